"""Figure 3: look-ups against the unique words of the subscriptions, for the paper's trie and our index."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from tidegate.bench.report import Report, Row
from tidegate.bench.route.audience import Audience
from tidegate.bench.route.corpus import Corpus
from tidegate.csr import taken
from tidegate.index.contract import Index
from tidegate.index.flat import Flat
from tidegate.index.hashed_trie import HashedTrie, alphabetical_positions
from tidegate.index.sets import TermSets
from tidegate.route.matching_cost import fit, measured_points

_SHARES: Final = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def report_look_ups(report: Report, corpus: Corpus, audience: Audience, posts: int) -> None:
    """Match posts against growing parts of an audience, and fit lines to what it costs."""
    positions = alphabetical_positions(corpus.sample.words)
    builds: dict[str, Callable[[TermSets], Index]] = {
        "hashed trie (S³-TM)": partial(HashedTrie.build, positions=positions),
        "flat (ours)": Flat.build,
    }
    lines = []
    rows: list[Row] = []
    for name, build in builds.items():
        line, points = _figure(name, build, corpus, audience, posts)
        lines.append(line)
        rows += points
    note = "; ".join(lines)
    report.section(f"Figure 3: look-ups of a post by unique words of {audience.kind} subscriptions", rows, note)


def _figure(
    name: str, build: Callable[[TermSets], Index], corpus: Corpus, audience: Audience, posts: int
) -> tuple[str, list[Row]]:
    sample = corpus.sample
    sizes = sorted({max(int(share * len(audience)), 1) for share in _SHARES})
    some = sample.posts.slice(0, min(posts, len(sample)))
    points = measured_points(build, taken(audience.sets, audience.drawn), some, len(sample.words), sizes)
    words, look_ups = np.array([point.words for point in points]), np.array([point.look_ups for point in points])
    line = fit(words, look_ups)
    told = f"{name}: {line.intercept:.3g} + {line.slope:.3g} × words, R² = {line.r_squared(words, look_ups):.3f}"
    rows = [
        {
            "index": name,
            "subscriptions": point.subscriptions,
            "unique words": point.words,
            "look-ups": point.look_ups,
            "on the line": line(point.words),
            "µs": point.microseconds,
        }
        for point in points
    ]
    return told, rows
