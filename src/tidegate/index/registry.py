"""Every index there is, by name: what tests cross with the contract and benchmarks with each other."""

from tidegate.errors import ConfigError
from tidegate.index.brute_force import BruteForce
from tidegate.index.contract import Index
from tidegate.index.counting import Counting
from tidegate.index.flat import Flat
from tidegate.index.hashed_trie import HashedTrie
from tidegate.index.ordered_trie import OrderedTrie, PatriciaTrie
from tidegate.index.ranked_key import RankedKey

INDEXES: dict[str, type[Index]] = {
    index.name: index for index in (BruteForce, Counting, RankedKey, OrderedTrie, PatriciaTrie, HashedTrie, Flat)
}


def index_named(name: str) -> type[Index]:
    """Return the index class called `name`, or say which there are."""
    if name not in INDEXES:
        raise ConfigError(f"no index is called {name!r}: choose one of {', '.join(INDEXES)}")
    return INDEXES[name]
