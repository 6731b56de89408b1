"""The router as a stage meets it: posts in, matchers to visit out, one file for all processes."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tidegate.csr import Csr, from_rows, offsets_of
from tidegate.errors import ConfigError, StoreError
from tidegate.index.compiled import Compiled
from tidegate.index.matcher import Matcher
from tidegate.index.strings import strings
from tidegate.query.parse import parse, parse_many
from tidegate.route.copies import Copies
from tidegate.route.hot_words import Hashes, drawn, word_hashes
from tidegate.route.maps import learn
from tidegate.route.ownership import owner
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import place
from tidegate.route.places.grid_t import GridT
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.sample import Sample
from tidegate.route.spots import Spots
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import profile_named
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

ANALYZER = Analyzer()
MATCHERS = 64


def router_to(*texts: str, analyzer: Analyzer = ANALYZER) -> Router:
    return Router.build(place([parse(text, analyzer) for text in texts], Plan.hash(MATCHERS)), analyzer)


def visits(router: Router, posts: pa.Table | Sequence[str | None], **columns: str) -> list[list[int]]:
    table = posts if isinstance(posts, pa.Table) else pa.table({"text": pa.array(posts, pa.string())})
    routed = router.route(table, None, **columns).matchers
    return [routed.row(post).tolist() for post in range(routed.rows)]


def test_a_post_visits_the_owners_of_its_keys_in_rising_order() -> None:
    router = router_to("storm", "flood", "tide", "storms")
    storm, flood, tide = (owner(term, MATCHERS) for term in ("storm", "flood", "tide"))
    assert visits(router, ["Storms, floods and tides; more storms", "tide", "flooding storm"]) == [
        sorted({storm, flood, tide}),
        [tide],
        sorted({flood, storm}),
    ]


def test_a_post_without_a_key_goes_nowhere() -> None:
    assert visits(router_to("storm coast", "storm flood"), ["storm", "", None, "calm", "storm coast"]) == [
        [],
        [],
        [],
        [],
        [owner("coast", MATCHERS)],
    ]


@pytest.mark.parametrize(
    ("query", "post", "key"),
    [
        ("from:nasa", {"author": "@NASA"}, "from:nasa"),
        ("lang:en", {"lang": "en-GB"}, "lang:en"),
        ("in:(0,0,10,10)", {"lat": 5.0, "lon": 5.0}, "has:place"),
        ("near:(0,0,5)", {"lat": 80.0, "lon": 170.0}, "has:place"),  # where exactly is for the matcher to check
        ("sto*", {"text": "stormy"}, "sto*"),
        ('"the"', {"text": "The"}, "=the"),
        ("#eclipse", {"text": "#Eclipse!"}, "#eclipse"),
    ],
)
def test_every_kind_of_key_leads_to_its_owner(query: str, post: dict[str, object], key: str) -> None:
    nothing = {"text": "calm", "author": "esa", "lang": "de", "lat": None, "lon": None}
    table = pa.Table.from_pylist([{**nothing, **post}, nothing])
    assert visits(router_to(query), table) == [[owner(key, MATCHERS)], []]


def test_columns_may_have_other_names() -> None:
    table = pa.table({"body": ["storm"], "by": ["nasa"]})
    expected = sorted({owner("storm", MATCHERS), owner("from:nasa", MATCHERS)})
    assert visits(router_to("storm", "from:nasa"), table, text="body", author="by") == [expected]
    with pytest.raises(ConfigError, match="posts have no column 'text'"):
        router_to("storm").route(table)


def test_batches_chunks_and_slices_are_routed_as_they_look() -> None:
    texts = ["flood", "storm", "tide storm", "calm"]
    router = router_to("storm", "tide")
    batch = pa.record_batch({"text": texts}).slice(1, 2)
    chunked = pa.concat_tables([pa.table({"text": texts[1:2]}), pa.table({"text": texts[2:3]})])
    expected = visits(router, texts)[1:3]
    assert visits(router, chunked) == expected
    assert [row.tolist() for row in map(router.route(batch).matchers.row, range(2))] == expected


def test_matchers_with_their_own_queries_and_posts_find_what_one_matcher_finds() -> None:
    searches, posts = saved_searches(3_000, seed=8), generated_posts(500, seed=9)
    parsed, _ = parse_many(searches["query"].to_pylist(), ANALYZER)
    texts = {str(row): text for row, text in enumerate(searches["query"].to_pylist()) if parsed[row] is not None}
    placement = place([query for query in parsed if query is not None], Plan.hash(8))
    routed = Router.build(placement, ANALYZER).route(posts).matchers
    visitor = np.repeat(np.arange(routed.rows), np.diff(routed.offsets))

    found: list[tuple[int, str]] = []
    for home in range(8):
        ids = [subscription for subscription, lives in zip(texts, placement.homes.values, strict=True) if lives == home]
        compiled, _ = Compiled.build(ids, [texts[subscription] for subscription in ids], ANALYZER)
        rows = visitor[routed.values == home]
        found += [(int(rows[row]), subscription) for row, subscription in compiled.match(posts.take(rows)).pairs()]

    everything = Matcher(ANALYZER)
    everything.subscribe_many(list(texts), list(texts.values()))
    assert sorted(found) == sorted(everything.match(posts).pairs())
    assert len(found) > 100
    assert len(visitor) < 8 * len(posts), "routing spares no visit"
    everything.close()


def plain_visits(terms: Csr, router: Router, posts: Hashes) -> list[list[tuple[int, int, int]]]:
    """The twin of the kernel, in plain Python: by post its matchers, each with the keys and subscriptions there."""
    visits = []
    for post in range(terms.rows):
        keys: Counter[int] = Counter()
        subscriptions: Counter[int] = Counter()
        for key in terms.row(post).tolist():
            first, end = router.slots[key : key + 2].tolist()
            slot = first + drawn(posts[post], router.hashes[key], end - first)
            for entry in range(*router.routes.offsets[slot : slot + 2].tolist()):
                keys[int(router.routes.values[entry])] += 1
                subscriptions[int(router.routes.values[entry])] += int(router.weights[entry])
        visits.append([(matcher, keys[matcher], subscriptions[matcher]) for matcher in sorted(keys)])
    return visits


def any_router(routes: Csr, versions: Sequence[int], matchers: int) -> Router:
    keys = strings([f"key{number}" for number in range(len(versions))])
    weights = np.arange(len(routes.values)) % 7 + 1
    hashes, slots, no_copies = word_hashes(keys), offsets_of(versions), Copies.of([], from_rows([]))
    return Router(ANALYZER.profile, matchers, keys, hashes, slots, routes, weights, Spots.none(), no_copies)


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_visits_as_its_plain_twin(seed: int) -> None:
    generator = np.random.default_rng(seed)
    matchers = int(generator.integers(1, 40))
    versions = generator.integers(1, 4, 12).tolist()
    routes = from_rows([np.flatnonzero(generator.random(matchers) < 0.3).tolist() for _ in range(sum(versions))])
    terms = from_rows([np.flatnonzero(generator.random(12) < share).tolist() for share in (0, 0.1, 0.5, 1) * 5])
    posts = generator.integers(0, 2**63, terms.rows).astype(np.uint64)
    router = any_router(routes, versions, matchers)
    found = router.route_read(terms, posts)
    rows = [
        list(
            zip(
                *(column[begin:end].tolist() for column in (found.matchers.values, found.keys, found.subscriptions)),
                strict=True,
            )
        )
        for begin, end in pairwise(found.matchers.offsets.tolist())
    ]
    assert rows == plain_visits(terms, router, posts)


def test_the_kernel_has_room_when_every_key_leads_everywhere() -> None:
    found = any_router(from_rows([range(4096)] * 3), [1, 1, 1], 4096).route_read(from_rows([[0, 1, 2]] * 3))
    assert found.matchers.offsets.tolist() == [0, 4096, 8192, 12288]


def test_an_opened_router_is_mapped_and_routes_alike(tmp_path: Path) -> None:
    router = router_to("storm coast", "flood OR #eclipse", "sto* lang:en", "in:(0,0,1,1)")
    router.save(tmp_path / "router.arrow")
    opened = Router.open(tmp_path / "router.arrow")
    assert (opened.profile, opened.matchers, opened.keys) == (router.profile, MATCHERS, router.keys)
    assert not any(array.flags.owndata or array.flags.writeable for array in opened.routes)
    texts = ["Storm on the coast", "#eclipse", "flood", "stormy", "calm"]
    assert visits(opened, texts) == visits(router, texts)


def test_the_profile_travels_with_the_file(tmp_path: Path) -> None:
    analyzer = Analyzer(profile_named("social", language="german", stop_words=["Haus"], max_bytes=50))
    router_to("Gärten", analyzer=analyzer).save(tmp_path / "x")
    opened = Router.open(tmp_path / "x")
    assert opened.profile == analyzer.profile
    assert visits(opened, ["Garten", "x" * 60 + " Garten"]) == [[owner("gart", MATCHERS)], []]


def test_the_same_queries_give_the_same_file(tmp_path: Path) -> None:
    texts = ["storm coast", "flood OR tide", "from:nasa"]
    router_to(*texts).save(tmp_path / "one")
    router_to(*reversed(texts)).save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_no_queries_are_routed_to_nowhere(tmp_path: Path) -> None:
    router_to().save(tmp_path / "x")
    assert visits(Router.open(tmp_path / "x"), ["storm", "flood"]) == [[], []]
    assert visits(router_to("storm"), pa.table({"text": pa.array([], pa.string())})) == []


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    Compiled.build(["a"], ["storm"])[0].save(tmp_path / "x")
    with pytest.raises(StoreError, match="a segment of kind 'compiled', not 'router'"):
        Router.open(tmp_path / "x")


def test_an_altered_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    router_to("storm").save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="its bytes are not those that were written"):
        Router.open(path)
    with pytest.raises(StoreError, match="there is no such segment"):
        Router.open(tmp_path / "missing")


def test_a_place_at_the_antimeridian_is_found_however_a_post_spells_it() -> None:
    where = np.arange(8, dtype=np.int32)
    places = PlaceMap.of(GridT((-180.0, -90.0, 180.0, 90.0), 8, 1, 8, 0, where, np.empty((0, 0), np.int16)), [])
    words = learn("hash", Sample.of(pa.table({"text": ["storm"]}), ANALYZER), 8, splitting=False)
    query = parse("storm in:(-180,-10,-170,10)", ANALYZER)
    router = Router.build(place([query], Plan("grid", 8), words, places=places), ANALYZER)
    at = pa.table({"text": ["storm"] * 4, "lat": [0.0, 0.0, 0.0, 90.0], "lon": [-180.0, 180.0, 179.0, 7.0]})
    assert visits(router, at) == [[0], [0], [], [0]]
