"""Plans: how the matching of a stream is spread over matchers. Plain data, kept beside the subscriptions.

What a learned plan has learned, its word map and its place map, are files of their own that the plan names.
"""

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from tidegate.errors import ConfigError, StoreError

FORMAT = 3
MAX_MATCHERS = 4096

BY_PLACE: Final = ("hybrid", "grid", "kd_tree", "r_tree", "frequency", "metric")
"""Kinds that learn a place map: by it live the queries that want a place, and by a word map all others."""
LEARNED: Final = ("gc", "gfc", "gfcl", "gnfcl", "salb", "refined", "hypergraph", "headtail", *BY_PLACE)
"""Kinds whose word maps are learned from posts."""
WITH_HEAD: Final = ("headtail", "hybrid")
"""Kinds that may answer the queries of the commonest words where posts are routed."""
KINDS: Final = ("replicate", "hash", *LEARNED)

PLACEMENTS: Final = ("rarest", "anycast", "lasp")
"""At which of the matchers that own its words a query lives: its rarest word's, any, or where it costs least."""

_ALLOWED = f"'replicate', or KIND:N for 1 to {MAX_MATCHERS} matchers, with KIND one of {', '.join(KINDS[1:])}"
_WRITTEN = re.compile(f"({'|'.join(KINDS[1:])}):([0-9]{{1,9}})(?::({'|'.join(PLACEMENTS)}))?")
# What a kind does unless it is told otherwise: the maps of S³-TM come with its placement.
_USUAL: Final = dict.fromkeys(("gc", "gfc", "gfcl", "gnfcl", "salb"), "lasp")


@dataclass(frozen=True)
class Plan:
    """A kind and its number of matchers; the version tells the plans of one store apart.

    `replicate`: every worker matches every subscription, which counts as one matcher. All others *partition*: a
    subscription lives at a matcher that owns one of its words, and a post visits those that its own words lead to.
    Words are owned by `hash`, or as learned from posts; with `headtail`, the queries of the commonest words, the head,
    are answered where posts are routed, and only the rest is partitioned. With `hybrid`, which has a head as well, and
    its baselines, queries that want a place live at the matchers of the cells it overlaps.

    >>> Plan.parse("hash:16").with_version(3)
    Plan(kind='hash', matchers=16, version=3, placement='rarest', head=0, words='', places='', after=0)
    """

    kind: str = "replicate"
    matchers: int = 1
    version: int = 0
    placement: str = "rarest"
    head: int = 0
    """How many of the commonest words make the head."""
    words: str = ""
    """The file with the word map of a learned plan; empty until the plan is published."""
    places: str = ""
    """The file with the place map of a plan by places; empty likewise."""
    after: int = 0
    """The version of the plan that subscriptions from before this one live by until they are compiled anew; 0: none."""

    def __post_init__(self) -> None:
        """Refuse what is no plan."""
        if self.kind not in KINDS:
            raise ConfigError(f"no plan is called {self.kind!r}: choose one of {', '.join(KINDS)}")
        most = 1 if self.kind == "replicate" else MAX_MATCHERS
        if not isinstance(self.matchers, int) or not 1 <= self.matchers <= most:
            allowed = "exactly 1 is" if most == 1 else f"1 to {most} are"
            raise ConfigError(f"plan {self.kind} with {self.matchers!r} matchers: {allowed} allowed")
        if not isinstance(self.version, int) or self.version < 0:
            raise ConfigError(f"plan version {self.version!r}: versions are whole numbers from 0 on")
        if self.placement not in PLACEMENTS:
            raise ConfigError(f"no placement is called {self.placement!r}: choose one of {', '.join(PLACEMENTS)}")
        if not isinstance(self.after, int) or self.after < 0 or (self.after and self.after >= self.version):
            raise ConfigError(
                f"plan version {self.version} after {self.after!r}: give the version of an older plan, or 0"
            )
        if not isinstance(self.head, int) or self.head < 0 or (self.head and self.kind not in WITH_HEAD):
            with_head = " and ".join(WITH_HEAD)
            raise ConfigError(f"plan {self.kind} with a head of {self.head!r} words: {with_head} have one, from 0 on")

    @classmethod
    def replicate(cls) -> Self:
        """Return the plan that moves no post: best while every worker can map the whole index."""
        return cls()

    @classmethod
    def hash(cls, matchers: int) -> Self:
        """Return the plan that spreads subscriptions by a hash of their words."""
        return cls("hash", matchers)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a plan as a user writes it: `replicate`, `hash:16`, or with its placement, `salb:16:anycast`."""
        if text == "replicate":
            return cls.replicate()
        if written := _WRITTEN.fullmatch(text):
            kind, matchers, placement = written.groups()
            return cls(kind, int(matchers), placement=placement or _USUAL.get(kind, "rarest"))
        raise ConfigError(f"{text!r} is no plan: write {_ALLOWED}")

    def __str__(self) -> str:
        """Return the plan as `parse` reads it."""
        if not self.partitions:
            return self.kind
        usual = self.placement == _USUAL.get(self.kind, "rarest")
        return f"{self.kind}:{self.matchers}" + ("" if usual else f":{self.placement}")

    @property
    def partitions(self) -> bool:
        """Whether posts are sent to matchers, rather than matched where they are."""
        return self.kind != "replicate"

    @property
    def learned(self) -> bool:
        """Whether the plan has a word map of its own."""
        return self.kind in LEARNED

    @property
    def by_place(self) -> bool:
        """Whether the plan has a place map of its own."""
        return self.kind in BY_PLACE

    @property
    def has_head(self) -> bool:
        """Whether some queries are answered where posts are routed: those of a single term, and those of the head's."""
        return self.kind in WITH_HEAD

    @property
    def makes_copies(self) -> bool:
        """Whether queries may live at several matchers, so that posts have to carry their visits."""
        return self.learned

    def with_version(self, version: int) -> Self:
        """Return the same plan under another version, by which everything is compiled anew."""
        return replace(self, version=version, after=0)

    def taking_over_from(self, newest: Self) -> Self:
        """Return the same plan as the next version, which takes over gradually from the newest so far, if it can.

        Both must partition, and the older one must not need more matchers; posts must carry their visits.
        """
        can = newest.partitions and self.makes_copies and newest.matchers <= self.matchers
        return replace(self, version=newest.version + 1, after=newest.version if can else 0)

    def with_files(self, words: str = "", places: str = "") -> Self:
        """Return the same plan with its word map and its place map in files of these names."""
        return replace(self, words=words, places=places)

    def to_json(self) -> str:
        """Return the plan as `from_json` reads it."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a stored plan. One that a later version of Tidegate wrote is a `StoreError` that says so."""
        try:
            stored: dict[str, Any] = dict(json.loads(text))
            written = stored.pop("format")
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"not a stored plan: {text!r}; write the plan anew") from error
        # Format 1 had no more than kind, matchers and version; format 2 had neither places nor plans side by side.
        if written not in (1, 2, FORMAT):
            raise StoreError(f"plan format {written!r}, this version reads up to {FORMAT}: upgrade Tidegate")
        if stored.get("kind") not in KINDS:
            known = ", ".join(KINDS)
            raise StoreError(f"plan kind {stored.get('kind')!r}, this version knows {known}: upgrade Tidegate")
        try:
            return cls(**stored)
        except (ConfigError, TypeError) as error:
            raise StoreError(f"not a stored plan: {text!r} ({error}); write the plan anew") from error
