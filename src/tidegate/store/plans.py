"""Plans, by version: small files, written once and never changed. Version 0 is *replicate* and needs no file.

A learned plan names its word map, which lies beside it and is written first.
"""

import secrets

from tidegate.errors import ConfigError, StoreError
from tidegate.route.plan import Plan
from tidegate.route.word_map import WordMap
from tidegate.store.files import Files
from tidegate.store.location import Location


class Plans:
    """The plans of one store."""

    def __init__(self, location: Location, files: Files) -> None:
        """Keep them below `location`, and the word maps among the `files` there."""
        self._location, self._files = location, files
        self._known = {0: Plan.replicate()}

    def newest(self) -> Plan:
        """The plan that new micro-batches follow."""
        versions = [int(name.rpartition("/")[2].removesuffix(".json")) for name in self._location.names("plans")]
        return self.at(max(versions, default=0))

    def at(self, version: int) -> Plan:
        """The plan of a version."""
        if version not in self._known:
            content = self._location.read(_name(version))
            if content is None:
                raise StoreError(f"{self._location.url}: there is no plan of version {version}")
            self._known[version] = Plan.from_json(content.decode())
        return self._known[version]

    def publish(self, plan: Plan, words: WordMap | None = None) -> Plan:
        """Make a plan the newest, with the word map it has learned; return it with its version."""
        if plan.learned != (words is not None):
            need = "needs a word map: learn one from posts" if plan.learned else "has no use for a word map"
            raise ConfigError(f"plan {plan} {need}")
        if words is not None:
            if words.matchers != plan.matchers:
                raise ConfigError(f"plan {plan} with a word map for {words.matchers} matchers: the numbers must agree")
            plan = plan.with_words(f"words/{secrets.token_hex(8)}.arrow")
            self._files.create(plan.words, words.save)
        while True:
            numbered = plan.with_version(self.newest().version + 1)
            if self._location.create(_name(numbered.version), numbered.to_json().encode()):
                return numbered


def _name(version: int) -> str:
    return f"plans/{version:09}.json"
