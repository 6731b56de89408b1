"""The same matching in Spark SQL, as a good engineer without Tidegate would write it."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.spark.trials.batch import drained


class SqlRival:
    """Every word of a post looks up the rules of which it is the rarest; what they ask for besides is then compared."""

    def __init__(self, spark: SparkSession, rules: Path, posts: Path) -> None:
        """Read rules (subscription, rarest, words) into memory; posts (id, text) are of words with a space between."""
        self._rules = spark.read.parquet(str(rules)).cache()
        self._rules.count()
        words = F.array_distinct(F.split("text", " "))
        self._posts = spark.read.parquet(str(posts)).select("id", words.alias("has"))

    def seconds(self) -> float:
        """The time of matching, the rows dropped."""
        return drained(self._matches())

    def pairs(self) -> pa.Table:
        """All matches, as rows of post and subscription."""
        return self._matches().toArrow()

    def close(self) -> None:
        """Give the memory back."""
        self._rules.unpersist()

    def _matches(self) -> DataFrame:
        looked_up = self._posts.select("id", "has", F.explode("has").alias("word"))
        candidates = looked_up.join(self._rules, F.col("word") == F.col("rarest"))
        return candidates.where(F.size(F.array_except("words", "has")) == 0).select("id", "subscription")
