"""Slices, and what is held between them, compared with all matches in one place."""

from collections.abc import Sequence
from math import inf

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rank.central import MATCHES, Batch, Best, Match, delivered, watermarks
from tidegate.errors import PipelineError
from tidegate.rank.bundle import Bundle, PostColumns
from tidegate.rank.holding import Advance, Held, advance
from tidegate.rank.selection import NEVER
from tidegate.rank.slicing import Slicing, sliced

RANKINGS = [
    '{"k": 2, "window": 3, "score": "field:likes", "feed": true}',
    '{"k": 1, "window": 2, "shift": 1, "score": "field:likes"}',
    '{"k": 2, "window": 4, "shift": 3, "score": "field:likes", "diverse": true}',
    '{"k": 2, "window": 2, "score": "recency", "most": {"posts": 3, "per": "10ms"}}',
    '{"k": 2, "window": "4ms", "score": "field:likes", "feed": true}',
    '{"k": 1, "window": "6ms", "shift": "2ms", "score": "field:likes"}',
    '{"k": 2, "window": "5ms", "shift": "4ms", "score": "field:likes", "diverse": true}',
    '{"k": 2, "window": "3ms", "score": "recency", "most": {"posts": 3, "per": "10ms"}}',
]
COLUMNS = PostColumns()


def table(matches: Sequence[Match]) -> pa.Table:
    columns = list(zip(*matches, strict=True)) or [()] * len(MATCHES)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, MATCHES.types, strict=True)], MATCHES)


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Batches of slices of matches: several subscriptions want a post, and posts come out of order."""
    subscriptions = draw(
        st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(RANKINGS)), min_size=1, max_size=5, unique=True)
    )
    authors = st.sampled_from([None, "x", "y"])
    number = 0
    batches: list[Batch] = []
    for batch in range(draw(st.integers(1, 4))):
        slices = []
        for _ in range(draw(st.integers(1, 2))):
            matches: list[Match] = []
            for _ in range(draw(st.integers(0, 12))):
                number += 1
                time = 1_000 * draw(st.integers(0, 12)) + 6_000 * batch
                post = f"{number * 37 % 100:02}", time, draw(authors), draw(st.integers(0, 3))
                wanted = draw(st.lists(st.sampled_from(range(len(subscriptions))), max_size=3))
                matches += [Match(*post, subscriptions[i][0], f"s{i}", subscriptions[i][1]) for i in wanted]
            slices.append(matches)
        batches.append(slices)
    return batches


def step(
    held: Held | None,
    slices: Sequence[Sequence[Match]],
    watermark: float,
    how: Slicing = Slicing(COLUMNS),  # noqa: B008
) -> Advance:
    """One micro-batch for one bucket, by way of bytes."""
    sent = [sliced(table(one), np.zeros(len(one), np.int64), how) for one in slices if one]
    bundles = [Bundle.from_bytes(one.to_bytes()) for part in sent for _, one in part.bundles()]
    if held is None and not bundles:
        return Advance(table([]), None, None, 0)  # type: ignore[arg-type]
    known = held and Held(Bundle.from_bytes(held.bundle.to_bytes()), held.closed)
    return advance(known, bundles, COLUMNS, NEVER if watermark == -inf else int(watermark), apart=how.apart)


def run(batches: Sequence[Batch], delay: int, how: Slicing) -> list[Best]:
    held, found = None, []
    for batch, watermark in zip([*batches, []], watermarks(batches, delay), strict=True):
        done = step(held, batch, watermark, how)
        held = done.held
        rows = done.delivered.to_pylist() if held else []
        found += [Best(*(row[name] for name in Best._fields)) for row in rows]
    return sorted(found, key=lambda one: (one.subscriber, one.subscription or "", *one[2:]))


@given(batches=streams(), delay=st.sampled_from([0, 3_000, 50_000]), chunks=st.booleans())
@settings(max_examples=400)
def test_feeds_deliver_what_all_matches_in_one_place_would(batches: list[Batch], delay: int, chunks: bool) -> None:
    assert run(batches, delay, Slicing(COLUMNS, chunks=chunks)) == delivered(batches, delay)


@given(batches=streams(), delay=st.sampled_from([0, 50_000]), data=st.data())
@settings(max_examples=300)
def test_a_post_counts_once_where_several_slices_have_its_matches(
    batches: list[Batch], delay: int, data: st.DataObject
) -> None:
    spread: list[Batch] = []
    for batch in batches:
        matches = list(dict.fromkeys(match for one in batch for match in one))
        home = data.draw(st.lists(st.integers(0, 2), min_size=len(matches), max_size=len(matches)))
        spread.append([[m for m, at in zip(matches, home, strict=True) if at == number] for number in range(3)])
    together: list[Batch] = [[[match for one in batch for match in one]] for batch in spread]
    assert run(spread, delay, Slicing(COLUMNS, apart=True)) == delivered(together, delay)


def feed(n: int, ranking: str, *, begin: int = 0, step_us: int = 1_000) -> list[Match]:
    return [
        Match(f"{i:03}", i * step_us, "x", i * 7919 % 1009, "ana", "storms", ranking) for i in range(begin, begin + n)
    ]


@pytest.mark.parametrize("n", [3, 30], ids=["all are sent", "some are left behind"])
@pytest.mark.parametrize("chunks", [True, False])
def test_a_post_that_the_stream_itself_brings_twice_is_two_events_however_many_are_sent(n: int, chunks: bool) -> None:
    ranking = '{"k": 1, "window": 3, "score": "field:likes", "feed": true}'
    best = run([[feed(n, ranking), feed(n, ranking)]], 0, Slicing(COLUMNS, chunks=chunks))
    assert [one.window for one in best] == list(range(2 * n // 3))


def test_posts_may_have_wider_numbers_after_a_restart_but_nothing_else_in_their_place() -> None:
    ranking = '{"k": 2, "window": 3}'
    held = step(None, [feed(2, ranking)], -inf).held

    def next_(kind: pa.DataType) -> Advance:
        matches = table(feed(1, ranking, begin=2))
        given = matches.set_column(MATCHES.get_field_index("likes"), "likes", matches.column("likes").cast(kind))
        ((_, bundle),) = sliced(given, np.zeros(1, np.int64), Slicing(COLUMNS)).bundles()
        return advance(held, [bundle], COLUMNS)

    assert next_(pa.float64()).delivered.num_rows > 0
    with pytest.raises(PipelineError, match=r"other types than those that are held.*: give columns the types"):
        next_(pa.string())


def test_no_more_is_held_than_open_windows_need() -> None:
    done = step(None, [feed(50, RANKINGS[0])], -inf)
    assert done.held.bundle.entries.num_rows == 50 % 3
    ranking = '{"k": 2, "window": "10ms", "score": "field:likes"}'
    done = step(None, [feed(50, ranking)], -inf)
    assert done.held.bundle.entries.num_rows == 10, "two of each of five windows"
    assert done.due == 10_000
    done = step(done.held, [], 30_000)
    assert (done.delivered.num_rows, done.held.bundle.entries.num_rows, done.due) == (6, 4, 40_000)
    done = step(done.held, [], 50_000)
    assert (done.held.bundle.feeds.num_rows, done.held.bundle.posts.num_rows, done.due) == (0, 0, None)


def test_posts_that_come_too_late_are_counted() -> None:
    ranking = '{"k": 9, "window": "10ms", "score": "field:likes"}'
    held = step(None, [feed(10, ranking)], -inf).held
    done = step(held, [feed(8, ranking, begin=25)], 30_000)
    assert done.late == 5
    assert set(done.delivered.column("window").to_pylist()) == {0}


def test_a_post_that_comes_through_two_slices_is_in_a_window_of_time_once() -> None:
    ranking = '{"k": 9, "window": "10ms", "score": "field:likes"}'
    held = step(None, [feed(3, ranking), feed(4, ranking)], -inf).held
    done = step(step(held, [feed(2, ranking)], 5_000).held, [], 10_000)
    assert sorted(done.delivered.column("id").to_pylist()) == ["000", "001", "002", "003"]


def test_subscribers_gone_are_forgotten() -> None:
    held = step(None, [feed(2, RANKINGS[0])], -inf).held
    done = advance(held, [], COLUMNS, 20_000, idle=19_000)
    assert (done.held.bundle.feeds.num_rows, done.held.bundle.entries.num_rows) == (0, 0)
    done = advance(held, [], COLUMNS, 19_999, idle=19_000)
    assert (done.held.bundle.feeds.num_rows, done.due) == (1, 20_000)


def test_a_bound_is_remembered_as_long_as_a_feed_is_not_idle() -> None:
    ranking = '{"k": 9, "window": "10ms", "score": "field:likes", "most": {"posts": 2, "per": "1d"}}'
    held = step(None, [feed(5, ranking)], -inf).held
    done = advance(held, [], COLUMNS, 10_000, idle=50_000)
    assert (done.delivered.num_rows, done.held.bundle.feeds.num_rows, done.due) == (2, 1, 54_000)
    more = step(done.held, [feed(5, ranking, begin=10)], 10_000).held
    assert advance(more, [], COLUMNS, 20_000, idle=50_000).delivered.num_rows == 0
    assert advance(done.held, [], COLUMNS, 54_000, idle=50_000).held.bundle.feeds.num_rows == 0


def test_the_bound_of_a_period_counts_for_windows_that_end_with_it() -> None:
    ranking = '{"k": 1, "window": "5ms", "score": "field:likes", "most": {"posts": 1, "per": "10ms"}}'
    done = step(step(None, [feed(20, ranking)], -inf).held, [], 20_000)
    assert done.delivered.column("window").to_pylist() == [0, 2]


def test_a_feed_is_idle_since_its_last_post_came_however_old_that_was() -> None:
    held = step(None, [feed(2, RANKINGS[0])], 90_000).held
    assert advance(held, [], COLUMNS, 99_000, idle=10_000).due == 100_000
    later = step(held, [feed(1, RANKINGS[0], begin=95)], 90_000).held
    assert advance(later, [], COLUMNS, 99_000, idle=10_000).due == 105_000


def test_only_windows_of_time_say_when_they_begin() -> None:
    done = step(None, [feed(3, RANKINGS[0])], -inf)
    assert done.delivered.column("begins").to_pylist() == [None, None]
    done = step(step(None, [feed(1, RANKINGS[4], begin=9)], -inf).held, [], 12_000)
    assert done.delivered.column("begins").cast(pa.int64()).to_pylist() == [8_000]


def test_a_post_is_held_once_however_many_feeds_it_is_in() -> None:
    matches = [m._replace(subscription=f"s{i}") for m in feed(1, RANKINGS[1]) for i in range(40)]
    bundle = step(None, [matches], -inf).held.bundle
    assert (bundle.feeds.num_rows, bundle.entries.num_rows, bundle.posts.num_rows) == (40, 40, 1)


def test_what_cannot_be_ranked_is_set_aside_and_the_rest_is_ranked() -> None:
    good = feed(4, RANKINGS[0])
    bad = [good[0]._replace(ranking="{"), good[1]._replace(ranking='{"score": "field:shares"}')]
    matches = table([*good, *bad])
    nobody = table([good[0]._replace(id="new")]).set_column(1, "ts", pa.nulls(1, MATCHES.types[1]))
    found = sliced(pa.concat_tables([matches, nobody]), np.zeros(7, np.int64), Slicing(COLUMNS))
    assert len(found.sent.feed) == 4
    early = sliced(matches, np.zeros(6, np.int64), Slicing(COLUMNS), latest=1_000)
    assert (len(early.sent.feed), early.newest) == (2, 1_000)
    assert early.aside.column("reason").to_pylist()[:2] == ["the post is from the future"] * 2
    assert [(row["id"], row["reason"]) for row in found.aside.to_pylist()] == [
        ("000", "ranking is '{': give a JSON object"),
        ("001", "posts have no column 'shares', which its score needs"),
        ("new", "the post has no time"),
    ]


def test_a_match_is_set_aside_for_the_first_reason_and_the_others_keep_their_buckets() -> None:
    good, other = feed(2, RANKINGS[0])
    nameless = good._replace(id=None, ranking="{")  # type: ignore[arg-type]
    matches = [nameless, nameless._replace(ranking=RANKINGS[0]), good, other._replace(subscriber=None)]  # type: ignore[arg-type]
    found = sliced(table(matches), np.array([7, 7, 3, 5]), Slicing(COLUMNS))
    assert found.aside.column("reason").to_pylist() == ["ranking is '{': give a JSON object", "the post has no id"]
    names = {number: one.feeds.column("subscriber").to_pylist() for number, one in found.bundles()}
    assert names == {3: ["ana"], 5: [None]}, "nobody is a subscriber of its own"


def test_a_function_scores_the_columns_of_posts() -> None:
    ranking = '{"k": 1, "window": 2, "score": "function:least"}'
    how = Slicing(COLUMNS, functions={"least": lambda posts: np.negative(posts.column("likes").to_numpy())})
    (_, bundle), *_ = sliced(table(feed(2, ranking)), np.zeros(2, np.int64), how).bundles()
    assert advance(None, [bundle], COLUMNS).delivered.column("id").to_pylist() == ["000"]


def test_buckets_share_out_feeds() -> None:
    matches = [m._replace(subscriber=f"u{i % 5}") for i, m in enumerate(feed(50, RANKINGS[4]))]
    found = dict(sliced(table(matches), np.arange(50) % 5, Slicing(COLUMNS)).bundles())
    assert {number: set(one.feeds.column("subscriber").to_pylist()) for number, one in found.items()} == {
        number: {f"u{number}"} for number in range(5)
    }


def test_what_is_torn_is_refused() -> None:
    with pytest.raises(PipelineError, match="what is held of ranked feeds cannot be read"):
        Bundle.from_bytes(step(None, [feed(2, RANKINGS[0])], -inf).held.bundle.to_bytes()[:-40])
