"""Plans as users write them and as stores keep them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import ConfigError, StoreError
from tidegate.route.plan import FORMAT, KINDS, MAX_MATCHERS, PLACEMENTS, Plan

WAYS = (
    "'replicate', or KIND:N for 1 to 4096 matchers, with KIND one of "
    "hash, gc, gfc, gfcl, gnfcl, salb, refined, hypergraph, headtail, "
    "hybrid, grid, kd_tree, r_tree, frequency, metric"
)


def test_a_plan_moves_nothing_unless_it_is_asked_to() -> None:
    assert Plan() == Plan.replicate() == Plan("replicate", 1, 0)
    assert not Plan().partitions
    assert Plan.hash(1).partitions


def test_plans_are_read_as_users_write_them() -> None:
    assert Plan.parse("replicate") == Plan.replicate()
    assert Plan.parse("hash:16") == Plan("hash", 16)
    assert Plan.parse(f"hash:{MAX_MATCHERS}") == Plan.hash(4096)


@pytest.mark.parametrize(
    "text", ["", "hash", "hash:", "hash:x", "hash:-1", "hash:1.5", "hash:٣", "replicate:1", "hsh:2"]
)
def test_what_is_no_plan_is_named_beside_what_is_one(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Plan.parse(text)
    assert str(refused.value) == f"{text!r} is no plan: write {WAYS}"


def test_a_number_too_long_to_read_is_refused_like_any_other() -> None:
    with pytest.raises(ConfigError, match="is no plan"):
        Plan.parse("hash:" + "9" * 5000)


@pytest.mark.parametrize("matchers", [0, -1, 4097, 2.0, "16"])
def test_a_number_of_matchers_outside_the_range_is_refused(matchers: int) -> None:
    with pytest.raises(ConfigError, match=f"plan hash with {matchers!r} matchers: 1 to 4096 are allowed"):
        Plan.hash(matchers)


def test_a_user_who_writes_too_many_matchers_is_told_the_range() -> None:
    with pytest.raises(ConfigError, match="plan hash with 5000 matchers: 1 to 4096 are allowed"):
        Plan.parse("hash:5000")


def test_replicate_is_one_matcher() -> None:
    with pytest.raises(ConfigError, match="plan replicate with 2 matchers: exactly 1 is allowed"):
        Plan("replicate", 2)


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="no plan is called 'oracle': choose one of replicate, hash"):
        Plan("oracle", 2)


def test_versions_count_from_zero() -> None:
    assert Plan.hash(4).with_version(7) == Plan("hash", 4, 7)
    with pytest.raises(ConfigError, match="plan version -1: versions are whole numbers from 0 on"):
        Plan.hash(4).with_version(-1)


plans = st.just(Plan.replicate()) | st.builds(
    Plan,
    st.sampled_from(KINDS[1:]),
    st.integers(1, MAX_MATCHERS),
    placement=st.sampled_from(PLACEMENTS),
    words=st.just("") | st.just("words/0123.arrow"),
    places=st.just("") | st.just("places/0123.arrow"),
)


@given(plan=plans)
def test_a_plan_is_written_as_it_is_read(plan: Plan) -> None:
    assert Plan.parse(str(plan)) == replace(plan, words="", places="")


def test_the_maps_of_the_paper_come_with_its_placement() -> None:
    assert [Plan.parse(text).placement for text in ("salb:16", "gfcl:16", "refined:16", "hash:16")] == [
        "lasp",
        "lasp",
        "rarest",
        "rarest",
    ]
    assert Plan.parse("salb:16:anycast").placement == "anycast"


def test_only_head_and_tail_and_hybrid_have_a_head() -> None:
    assert [Plan(kind, 4, head=100).head for kind in ("headtail", "hybrid")] == [100, 100]
    assert [Plan(kind, 4).has_head for kind in ("headtail", "hybrid", "kd_tree", "salb")] == [True, True, False, False]
    with pytest.raises(ConfigError, match="plan salb with a head of 100 words: headtail and hybrid have one"):
        Plan("salb", 4, head=100)


def test_a_plan_of_the_first_format_is_still_read() -> None:
    assert Plan.from_json('{"format": 1, "kind": "hash", "matchers": 4, "version": 3}') == Plan("hash", 4, 3)


@given(plan=plans, version=st.integers(0, 1 << 60))
def test_a_stored_plan_is_read_back_as_it_was(plan: Plan, version: int) -> None:
    numbered = plan.with_version(version)
    assert Plan.from_json(numbered.to_json()) == numbered


@pytest.mark.parametrize(
    ("altered", "message"),
    [
        ({"format": FORMAT + 1}, f"plan format {FORMAT + 1}, this version reads up to {FORMAT}: upgrade Tidegate"),
        (
            {"format": FORMAT + 1, "map": "words.arrow"},
            f"plan format {FORMAT + 1}, this version reads up to {FORMAT}: upgrade Tidegate",
        ),
        ({"kind": "oracle"}, f"plan kind 'oracle', this version knows {', '.join(KINDS)}: upgrade Tidegate"),
    ],
)
def test_a_plan_of_a_later_version_asks_for_an_upgrade(altered: dict[str, object], message: str) -> None:
    with pytest.raises(StoreError) as refused:
        Plan.from_json(json.dumps({**json.loads(Plan.hash(4).to_json()), **altered}))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "7",
        "[]",
        "null",
        "{}",
        '{"format": 1, "kind": "hash", "matchers": 0, "version": 0}',
        '{"format": 1, "kind": "hash", "matchers": "16", "version": 0}',
        '{"format": 1, "kind": "hash", "matchers": 16, "version": 0, "spare": 1}',
    ],
)
def test_what_was_never_a_stored_plan_is_shown(text: str) -> None:
    with pytest.raises(StoreError) as refused:
        Plan.from_json(text)
    assert str(refused.value).startswith(f"not a stored plan: {text!r}")


@pytest.mark.parametrize(
    ("stored", "plan"),
    [
        ('{"format": 1, "kind": "hash", "matchers": 4, "version": 2}', Plan("hash", 4, 2)),
        (
            '{"format": 2, "kind": "salb", "matchers": 4, "version": 3, "placement": "lasp", "head": 0, "words": "w"}',
            Plan("salb", 4, 3, "lasp", words="w"),
        ),
    ],
)
def test_plans_of_older_formats_are_read(stored: str, plan: Plan) -> None:
    assert Plan.from_json(stored) == plan


@pytest.mark.parametrize("after", [-1, 3, 4, "x", None])
def test_a_plan_takes_over_from_an_older_one(after: int) -> None:
    with pytest.raises(ConfigError, match=f"plan version 3 after {after!r}: give the version of an older plan, or 0"):
        Plan("salb", 4, 3, after=after)


def test_posts_that_carry_no_visits_cannot_follow_two_plans() -> None:
    salb = Plan("salb", 4, 3)
    assert Plan("salb", 4).taking_over_from(salb) == Plan("salb", 4, 4, after=3)
    assert Plan.hash(4).taking_over_from(salb) == Plan("hash", 4, 4)
    assert Plan("salb", 2).taking_over_from(salb).after == 0
    assert Plan("salb", 4).taking_over_from(Plan.replicate()).after == 0
