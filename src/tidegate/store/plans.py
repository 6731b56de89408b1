"""Plans, by version: small files, written once and never changed. Version 0 is *replicate* and needs no file."""

from tidegate.errors import StoreError
from tidegate.route.plan import Plan
from tidegate.store.location import Location


class Plans:
    """The plans of one store."""

    def __init__(self, location: Location) -> None:
        """Keep them below `location`."""
        self._location = location
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

    def publish(self, plan: Plan) -> Plan:
        """Make a plan the newest; return it with its version."""
        while True:
            numbered = plan.with_version(self.newest().version + 1)
            if self._location.create(_name(numbered.version), numbered.to_json().encode()):
                return numbered


def _name(version: int) -> str:
    return f"plans/{version:09}.json"
