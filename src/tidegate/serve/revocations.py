"""Live feeds whose key is no longer valid, by whatever process it was revoked: they end."""

from typing import Final

from anyio import to_thread

from tidegate.deliver.api_keys import ApiKeys
from tidegate.serve.live import Hub

EVERY_S: Final = 1.0
"""How often it is looked whether a key was revoked: a feed outlives its key by little more."""


class Revocations:
    """Compares the keys of open feeds with those that are valid: of all, when some key was revoked; else of new ones.

    A feed that opens while its key is being revoked is looked at after it has joined, so that none is missed.
    """

    def __init__(self, keys: ApiKeys, hub: Hub) -> None:
        """Watch the connections of a hub."""
        self._keys, self._hub = keys, hub
        self._revoked = -1

    async def round(self) -> None:
        """Look once."""
        revoked = await to_thread.run_sync(self._keys.revoked)
        feeds = self._hub.connections()
        unsure = feeds if revoked != self._revoked else [feed for feed in feeds if not feed.is_vouched_for]
        if unsure:
            valid = await to_thread.run_sync(self._keys.valid, {feed.key for feed in unsure})
            for feed in unsure:
                if feed.key in valid:
                    feed.is_vouched_for = True
                else:
                    feed.close()
        self._revoked = revoked
