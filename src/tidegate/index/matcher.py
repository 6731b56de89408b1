"""The matcher: subscriptions in, posts in, matches out. Everything the rooms above know, put together.

A post's terms find candidate conjunctions in a live index; what the index cannot prune is checked on them;
equal queries are matched once and fanned out to their subscriptions at the end.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.index.conjunctions import Conjunctions
from tidegate.index.contract import Index
from tidegate.index.fanout import FanOut
from tidegate.index.flat import Flat
from tidegate.index.found import Found
from tidegate.index.live import Live
from tidegate.index.refusal import Refusal, nameless, taken
from tidegate.query.conjunction import Query, id_of
from tidegate.query.normal import Limits
from tidegate.query.parse import parse, parse_canonical, parse_many
from tidegate.query.reason import Reason, explain
from tidegate.query.semantics import PostView
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import read_posts
from tidegate.text.vocabulary import Vocabulary

_NO_ENTRIES: Int32 = np.empty(0, np.int32)


class Matcher:
    """Holds subscriptions by id and matches posts against all of them, exactly. Belongs to one thread.

    >>> matcher = Matcher()
    >>> query = matcher.subscribe("ana", "storm (coast OR harbour) -film")
    >>> posts = pa.table({"text": ["Storms reach the coast", "A film of storms on the coast"]})
    >>> matcher.match(posts).pairs()
    [(0, 'ana')]
    """

    def __init__(
        self,
        analyzer: Analyzer | None = None,
        *,
        vocabulary: Vocabulary | None = None,
        limits: Limits | None = None,
        index_class: type[Index] = Flat,
    ) -> None:
        """Start empty. A `vocabulary` by falling frequency makes the index faster, never more or less right."""
        self.analyzer = analyzer or Analyzer()
        self.limits = limits or Limits()
        self.lexicon = Lexicon(self.analyzer, vocabulary)
        self._fanout = FanOut()
        self._live = Live(index_class)
        self._conjunctions = Conjunctions(self.lexicon)  # numbered as the live index's entries
        self._queries: dict[str, int] = {}  # query id -> number
        self._canonical: list[str] = []
        self._entries_of: list[Int32] = []
        self._wanted_by: list[int] = []  # by query: how many subscriptions ask for it
        self._numbers: dict[str, int] = {}  # subscription id -> number
        self._ids: list[str] = []

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self._numbers)

    @property
    def n_queries(self) -> int:
        """The number of distinct queries."""
        return len(self._queries)

    def subscriptions_of(self, queries: Csr) -> Csr:
        """Replace the queries of every row by the subscriptions that ask for them now."""
        return self._fanout.subscriptions(queries)

    def subscription_id(self, number: int) -> str:
        """The id of a subscription."""
        return self._ids[number]

    def query_of(self, subscription: str) -> int:
        """The number of the query a subscription asks for."""
        if subscription not in self._numbers:
            raise ConfigError(f"there is no subscription {subscription!r}")
        return self._fanout.query_of(self._numbers[subscription])

    def canonical(self, query: int) -> str:
        """The text that all spellings of a query share."""
        return self._canonical[query]

    def subscribe(self, subscription: str, query: str) -> Query:
        """Add a subscription; the next call of `match` knows it. Return its query, or raise `QueryError`."""
        parsed = parse(query, self.analyzer, self.limits)
        if not subscription:
            raise nameless()
        if subscription in self._numbers:
            raise taken(subscription)
        self._add([subscription], [parsed])
        return parsed

    def subscribe_many(self, subscriptions: Sequence[str], queries: Sequence[str | None]) -> list[Refusal]:
        """Add many at once; return those that were refused. One bad subscription does not stop the others."""
        if len(subscriptions) != len(queries):
            raise ConfigError(f"{len(subscriptions)} subscription ids for {len(queries)} queries: give as many of each")
        parsed, errors = parse_many(queries, self.analyzer, self.limits)
        reasons = iter(errors)
        refused: list[Refusal] = []
        accepted: dict[str, Query] = {}
        for row, (subscription, query) in enumerate(zip(subscriptions, parsed, strict=True)):
            if query is None:
                refused.append(Refusal(row, subscription, next(reasons)))
            elif not subscription:
                refused.append(Refusal(row, "", nameless()))
            elif subscription in self._numbers or subscription in accepted:
                refused.append(Refusal(row, subscription, taken(subscription)))
            else:
                accepted[subscription] = query
        self._add(list(accepted), list(accepted.values()))
        return refused

    def unsubscribe(self, subscription: str) -> None:
        """Remove a subscription at once."""
        query = self.query_of(subscription)
        number = self._numbers.pop(subscription)
        self._fanout.remove(number)
        self._wanted_by[query] -= 1
        if self._wanted_by[query] == 0:
            self._live.remove(self._entries_of[query])
            del self._queries[id_of(self._canonical[query])]
            # A query's number is not used again, but what it stood for need not be kept.
            self._canonical[query], self._entries_of[query] = "", _NO_ENTRIES

    def match(self, posts: pa.Table | pa.RecordBatch, **columns: str) -> Found:
        """Match posts (a column `text`; `author`, `lang`, `lat`, `lon` where there are such) against everything.

        `columns` names them where they are called otherwise, as in `text="body"`.
        """
        batch = read_posts(posts, self.lexicon, sequences=self._conjunctions.reads_phrases, **columns)
        proposed = self._live.match(batch.terms)
        verification = self._conjunctions.verification
        queries = verification.queries(proposed.sets, batch, len(self.lexicon.vocabulary), len(self._canonical))
        return Found(self, posts, columns, batch, queries, proposed.visited, len(proposed.sets.values))

    def why(self, query: int, post: PostView) -> Reason | None:
        """Say which conjunction of a query the post satisfies, and by which spans of its text; None if it does not."""
        if not self._canonical[query]:
            raise ConfigError(f"query {query} is gone: nobody asks for it any more")
        return explain(parse_canonical(self._canonical[query], self.analyzer), post, self.analyzer)

    def merge(self) -> None:
        """Fold everything added since the last merge into the main index now, instead of in the background."""
        self._live.merge()
        self._fanout.settle()

    def close(self) -> None:
        """Wait for background work to end."""
        self._live.close()

    def _add(self, subscriptions: list[str], queries: list[Query]) -> None:
        new = {query.id: query for query in queries if query.id not in self._queries}
        self._add_queries(list(new.values()))
        numbers = np.array([self._queries[query.id] for query in queries], np.int32)
        for number in numbers:
            self._wanted_by[number] += 1
        first = len(self._ids)
        self._ids += subscriptions
        self._numbers.update(zip(subscriptions, range(first, len(self._ids)), strict=True))
        self._fanout.add(numbers)

    def _add_queries(self, queries: Sequence[Query]) -> None:
        """Number the queries. They are known only when all that could fail is done."""
        if not queries:
            return
        sets, checks = self._conjunctions.prepare(queries)
        entries = self._live.add(sets)
        first = len(self._canonical)
        counts = [len(query.conjunctions) for query in queries]
        self._conjunctions.append(np.repeat(np.arange(first, first + len(queries), dtype=np.int32), counts), checks)
        self._entries_of += np.split(entries, np.cumsum(counts)[:-1])
        self._canonical += [query.canonical for query in queries]
        self._wanted_by += [0] * len(queries)
        self._queries.update((query.id, number) for number, query in enumerate(queries, first))
