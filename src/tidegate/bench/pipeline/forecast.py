"""What `tidegate provision --pipeline` forecasts from a run, beside what is measured at sizes that it does not know."""

from pathlib import Path
from typing import Any, Final

from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.searches import Searches, several_words
from tidegate.bench.pipeline.sizes import Sizes
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.pipeline.throughput import Pace
from tidegate.bench.report import Report, Row
from tidegate.capacity.pipeline_costs import PipelineCosts
from tidegate.spark.trials.batch import fingerprint, matching_seconds

CORES: Final = 2
"""Of all runs of the benchmark."""


def report_forecast(
    report: Report, spark: Any, posts: Path, folder: Path, corpus: Corpus, per_post: float, sizes: Sizes, seed: int
) -> None:
    """Add the forecasts for other numbers of subscriptions, and their errors."""
    costs = PipelineCosts.usual().with_report(report.as_json(), "this run")
    rows: list[Row] = []
    for count in sizes.foretold:
        searches = Searches.draw(corpus, count, per_post, several_words(), seed)
        subscribed = Subscribed.fill(folder / f"foretold-{count}", searches)
        found = fingerprint(spark, posts, subscribed.store, subscribed.at)  # warms up, too
        seconds = [matching_seconds(spark, posts, subscribed.store, subscribed.at) for _ in range(sizes.rounds)]
        pace = Pace(sizes.posts, seconds, found)
        foretold = 1e6 * CORES / (costs.post(count) + pace.matches_per_post * costs.row_us)
        rows.append(
            {
                "subscriptions": count,
                "matches a post": pace.matches_per_post,
                "forecast, posts/s": foretold,
                "measured, posts/s": pace.best,
                "error, %": 100 * (foretold / pace.best - 1),
            }
        )
    if rows:
        report.section(
            "Forecast: the capacity model of this run against other numbers of subscriptions",
            rows,
            note="the model knows the sizes of the sections before; a machine that is busy otherwise is not in it",
        )
        report.summary["forecast_error_pct"] = max(abs(row["error, %"]) for row in rows)
