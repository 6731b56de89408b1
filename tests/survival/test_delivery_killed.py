"""Service, database and pipeline are killed with SIGKILL while posts flow: whoever is to be told is told, once."""

from pathlib import Path

import pytest

from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.kills import survive
from tidegate.bench.delivery.server import postgres_server
from tidegate.bench.delivery.site import PARTS, running_site
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_nothing_is_lost_or_doubled_in_inboxes_and_feeds_whatever_is_killed(tmp_path: Path) -> None:
    with postgres_server() as server, running_site(tmp_path, server, "200ms", subscribers=4, seed=7) as site:
        outcome = survive(site, kills=1, seed=7)
        told = site.told()
        assert outcome.kills == dict.fromkeys(PARTS, 1)
        assert outcome.notifications == sum(map(len, told.values())) > 50
        assert (outcome.inbox, outcome.feeds) == (Faults(), Faults())
        assert outcome.reopened >= len(site.listeners), "every feed was to be cut off when the service was killed"
        # The same, seen from the other end: what a client has is its inbox, post by post.
        inbox = Inbox(Database.open(site.service.database))
        for name, listener in site.listeners.items():
            found = inbox.since(name, limit=10_000)
            assert [(one.cursor, one.id) for one in found] == [(each.cursor, each.id) for each in listener.notified]
            assert {one.id: {reason["subscription"] for reason in one.reasons} for one in found} == told[name]
