"""Plans of any kind with any word map, over the world of `tests.strategies`."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.strings import strings
from tidegate.route.plan import PLACEMENTS, Plan
from tidegate.route.word_map import WordMap

WORDS = [
    "storm",
    "flood",
    "rain",
    "warn",
    "stormi",
    "#storm",
    "#rain",
    "@esa",
    "from:nasa",
    "lang:en",
    "has:place",
    "kiel",
]


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, WordMap | None]:
    """A plan of any kind, with any word map: some words hot, some unknown."""
    matchers = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["hash", "salb", "refined", "headtail"]))
    plan = Plan(kind, matchers, placement=draw(st.sampled_from(PLACEMENTS)))
    if not plan.learned:
        return plan, None
    words = draw(st.permutations(WORDS).map(lambda known: known[: len(known) * 3 // 4]))
    owners = [draw(st.lists(st.integers(0, matchers - 1), min_size=1, max_size=3)) for _ in words]
    frequency = sorted((draw(st.integers(1, 20)) for _ in words), reverse=True)
    if kind == "headtail":
        plan = replace(plan, head=draw(st.integers(0, 6)))
    return plan, WordMap(matchers, strings(words), np.array(frequency), 30, from_rows(owners))
