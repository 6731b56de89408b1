"""Compiled subscriptions as a user meets them: one file, many processes, the bad ones set aside."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.errors import ConfigError, QueryError, StoreError
from tidegate.index.compiled import Compiled
from tidegate.index.matcher import Matcher
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import profile_named
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches


def test_it_matches_as_a_matcher_with_the_same_subscriptions() -> None:
    searches, posts = saved_searches(3_000, seed=3), generated_posts(500, seed=4)
    ids = searches["id"].cast(pa.string())
    compiled, refused = Compiled.build(ids, searches["query"])
    matcher = Matcher()
    refused_too = matcher.subscribe_many(ids.to_pylist(), searches["query"].to_pylist())
    assert [refusal.row for refusal in refused] == [refusal.row for refusal in refused_too]
    assert (len(compiled), compiled.n_queries) == (len(matcher), matcher.n_queries)
    assert sorted(compiled.match(posts).pairs()) == sorted(matcher.match(posts).pairs())
    matcher.close()


def test_bad_and_repeated_subscriptions_are_set_aside_with_row_and_reason() -> None:
    ids = ["a", "b", "a", "c", "d", "b"]
    compiled, refused = Compiled.build(ids, ["storm", "(storm", "flood", None, "Storms", "rain"])
    assert [(r.row, r.subscription, type(r.error)) for r in refused] == [
        (1, "b", QueryError),
        (2, "a", ConfigError),
        (3, "c", QueryError),
    ]
    found = compiled.match(pa.table({"text": ["storm", "flood", "rain"]}))
    assert sorted(found.pairs()) == [(0, "a"), (0, "d"), (2, "b")]
    assert compiled.n_queries == 2


def test_a_subscription_without_an_id_is_refused() -> None:
    compiled, refused = Compiled.build([None, "", "c"], ["storm", "flood", "rain"])
    assert [(r.row, r.subscription) for r in refused] == [(0, ""), (1, "")]
    assert all("a subscription has no id" in str(r.error) for r in refused)
    assert compiled.match(pa.table({"text": ["storm rain"]})).pairs() == [(0, "c")]


def test_columns_that_are_no_text_are_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match="subscription ids and queries are text"):
        Compiled.build(["a"], [5])  # type: ignore[list-item]


def test_another_process_opens_it_and_answers_alike(tmp_path: Path) -> None:
    path = tmp_path / "compiled.arrow"
    compiled, _ = Compiled.build(["ana", "ben"], ['storm "flood warning" -film', "sto* in:(0,0,10,10)"])
    compiled.save(path)
    program = """
import sys, pyarrow as pa
from tidegate.index.compiled import Compiled
texts = ["Storm: flood warning", "stormy", "storm"]
posts = pa.table({"text": texts, "lat": [None, 5.0, 50.0], "lon": [None, 5.0, 5.0]})
found = Compiled.open(sys.argv[1]).match(posts)
print(found.pairs(), found.why(0, "ana").highlight(found.post(0).text, "<", ">"))
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[(0, 'ana'), (1, 'ben')] <Storm>: <flood warning>", done.stderr


def test_the_profile_travels_with_the_file(tmp_path: Path) -> None:
    analyzer = Analyzer(profile_named("social", language="german", stop_words=["Haus"], max_bytes=50))
    Compiled.build(["a"], ["Häuser Garten"], analyzer)[0].save(tmp_path / "x")
    opened = Compiled.open(tmp_path / "x")
    assert opened.profile == analyzer.profile
    assert opened.match(pa.table({"text": ["Gärten am Häuser"]})).pairs() == [(0, "a")]


def test_arrays_are_mapped_not_copied(tmp_path: Path) -> None:
    Compiled.build(["a"], ["storm flood rain"])[0].save(tmp_path / "x")
    arrays = Compiled.open(tmp_path / "x").index.arrays
    assert not any(array.flags.owndata or array.flags.writeable for array in arrays.values())


def test_an_altered_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    Compiled.build(["a"], ["storm"])[0].save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="its bytes are not those that were written"):
        Compiled.open(path)


def test_nothing_compiled_matches_nothing(tmp_path: Path) -> None:
    compiled, refused = Compiled.build([], [])
    assert (len(compiled), refused) == (0, [])
    compiled.save(tmp_path / "x")
    assert Compiled.open(tmp_path / "x").match(pa.table({"text": ["storm"]})).pairs() == []


def test_a_subscription_that_is_not_there_is_named() -> None:
    compiled, _ = Compiled.build(["a"], ["storm"])
    with pytest.raises(ConfigError, match="there is no subscription 'b'"):
        compiled.query_of("b")
    with pytest.raises(ConfigError, match="1 subscription ids for 0 queries"):
        Compiled.build(["a"], [])


def test_sliced_arrays_are_saved_as_they_look(tmp_path: Path) -> None:
    ids, queries = pa.array(["x", "a", "b", "y"]).slice(1, 2), pa.array(["no", "storm", "flood", "no"]).slice(1, 2)
    compiled, _ = Compiled.build(ids, queries)
    compiled.save(tmp_path / "x")
    opened = Compiled.open(tmp_path / "x")
    assert sorted(opened.match(pa.table({"text": ["flood storm"]})).pairs()) == [(0, "a"), (0, "b")]
    assert sorted(opened.roster.names.to_pylist()) == ["", "", "a", "b"]
