"""Plans, by version: small files, written once and never changed. Version 0 is *replicate* and needs no file.

A learned plan names its word map and its place map, which lie beside it and are written first.
"""

import secrets

from tidegate.errors import ConfigError, StoreError
from tidegate.route.place_map import PlaceMap
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

    def publish(
        self, plan: Plan, words: WordMap | None = None, places: PlaceMap | None = None, *, gradually: bool = False
    ) -> Plan:
        """Make a plan the newest, with the maps it has learned; return it with its version.

        `gradually`: the subscriptions that are there live on by the plan before, if that is possible, until upkeep
        compiles them anew, so that no batch has to wait for it.
        """
        _check("word", plan, plan.learned, words)
        _check("place", plan, plan.by_place, places)
        names = {"words": words, "places": places}
        plan = plan.with_files(**{name: f"{name}/{secrets.token_hex(8)}.arrow" for name, one in names.items() if one})
        if words is not None:
            self._files.create(plan.words, words.save)
        if places is not None:
            self._files.create(plan.places, places.save)
        while True:
            newest = self.newest()
            numbered = plan.taking_over_from(newest) if gradually else plan.with_version(newest.version + 1)
            if self._location.create(_name(numbered.version), numbered.to_json().encode()):
                return numbered


def _check(kind: str, plan: Plan, needed: bool, given: WordMap | PlaceMap | None) -> None:
    """Refuse a map that a plan has no use for, or one that is missing or of another size."""
    if needed != (given is not None):
        need = f"needs a {kind} map: learn one from posts" if needed else f"has no use for a {kind} map"
        raise ConfigError(f"plan {plan} {need}")
    if given is not None and given.matchers != plan.matchers:
        raise ConfigError(f"plan {plan} with a {kind} map for {given.matchers} matchers: the numbers must agree")


def _name(version: int) -> str:
    return f"plans/{version:09}.json"
