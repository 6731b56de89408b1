import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.index.common_reading import CommonReading
from tidegate.index.compiled import Compiled

POSTS = pa.table(
    {
        "text": [
            "Storms reach the coast",
            "flood warning: the flood",
            "a quiet coast",
            "film of the storm",
            "",
            "#flood",
        ],
        "author": ["nasa", None, "esa", "nasa", "esa", None],
        "lat": [5.0, None, 50.0, 5.0, 5.0, None],
        "lon": [5.0, None, 50.0, 5.0, 5.0, None],
    }
)
QUERIES = [
    "storm",
    "storm -film",
    '"flood warning"',
    '"the flood" OR coast',
    "flo*",
    "#flood",
    "from:nasa storm",
    "coast in:(0,0,10,10)",
    '"quiet coast" -"the coast"',
]


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from(QUERIES), max_size=4), min_size=1, max_size=3))
def test_posts_read_once_match_as_if_each_set_had_read_them(sets: list[list[str]]) -> None:
    compiled = [Compiled.build([str(i) for i in range(len(queries))], queries)[0] for queries in sets]
    reading = CommonReading(compiled[0].profile)
    for subscriptions in compiled:
        view = reading.add(subscriptions.terms, subscriptions.surfaces)
        found = subscriptions.match_read(view(reading.read(POSTS)), POSTS)
        assert sorted(found.pairs()) == sorted(subscriptions.match(POSTS).pairs())
