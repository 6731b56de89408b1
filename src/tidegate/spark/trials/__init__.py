"""What the benchmark of the pipeline runs on Spark: files and stores in, seconds and answers out."""
