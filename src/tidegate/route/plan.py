"""Plans: how the matching of a stream is spread over matchers. Plain data, kept beside the subscriptions."""

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Self

from tidegate.errors import ConfigError, StoreError

FORMAT = 1
MAX_MATCHERS = 4096
_KINDS = ("replicate", "hash")
_ALLOWED = f"'replicate', or 'hash:N' for 1 to {MAX_MATCHERS} matchers"


@dataclass(frozen=True)
class Plan:
    """A kind and its number of matchers; the version tells the plans of one store apart.

    `replicate`: every worker matches every subscription, which counts as one matcher. `hash`: a subscription lives
    at one of several matchers, found from its words, and a post visits those that its own words lead to.

    >>> Plan.parse("hash:16").with_version(3)
    Plan(kind='hash', matchers=16, version=3)
    """

    kind: str = "replicate"
    matchers: int = 1
    version: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no plan."""
        if self.kind not in _KINDS:
            raise ConfigError(f"no plan is called {self.kind!r}: choose one of {', '.join(_KINDS)}")
        most = 1 if self.kind == "replicate" else MAX_MATCHERS
        if not isinstance(self.matchers, int) or not 1 <= self.matchers <= most:
            allowed = "exactly 1 is" if most == 1 else f"1 to {most} are"
            raise ConfigError(f"plan {self.kind} with {self.matchers!r} matchers: {allowed} allowed")
        if not isinstance(self.version, int) or self.version < 0:
            raise ConfigError(f"plan version {self.version!r}: versions are whole numbers from 0 on")

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
        """Read a plan as a user writes it: `replicate`, or `hash:16`."""
        if text == "replicate":
            return cls.replicate()
        if written := re.fullmatch("hash:([0-9]{1,9})", text):
            return cls.hash(int(written[1]))
        raise ConfigError(f"{text!r} is no plan: write {_ALLOWED}")

    @property
    def partitions(self) -> bool:
        """Whether posts are sent to matchers, rather than matched where they are."""
        return self.kind != "replicate"

    def with_version(self, version: int) -> Self:
        """Return the same plan under another version."""
        return replace(self, version=version)

    def to_json(self) -> str:
        """Return the plan as `from_json` reads it."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a stored plan. One that a later version of Tidegate wrote is a `StoreError` that says so."""
        try:
            stored = dict(json.loads(text))
            written = stored.pop("format")
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"not a stored plan: {text!r}; write the plan anew") from error
        if written != FORMAT:
            raise StoreError(f"plan format {written!r}, this version reads {FORMAT}: upgrade Tidegate")
        if stored.get("kind") not in _KINDS:
            known = ", ".join(_KINDS)
            raise StoreError(f"plan kind {stored.get('kind')!r}, this version knows {known}: upgrade Tidegate")
        try:
            return cls(**stored)
        except (ConfigError, TypeError) as error:
            raise StoreError(f"not a stored plan: {text!r} ({error}); write the plan anew") from error
