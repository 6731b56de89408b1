"""The pipeline on Spark: sources, stages, sinks and metrics. The only room that imports pyspark."""
