"""The tables as queries see them. How they come to be, index by index, is in `migrations/`, which alone makes them.

Times are microseconds since 1970, UTC. JSON is text: the databases have no use for what is in it, and PostgreSQL's own
type would refuse characters that posts may have.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text

METADATA: Final = MetaData()


def _table(name: str, /, **columns: type[Text | BigInteger | Integer]) -> Table:
    return Table(name, METADATA, *(Column(column, kind) for column, kind in columns.items()))


POSTS: Final = _table("posts", id=Text, body=Text, cursor=BigInteger)
"""What notifications are about, once for all of them; `cursor` is at least that of the last one that is."""

NOTIFICATIONS: Final = _table(
    "notifications",
    cursor=BigInteger,
    subscriber=Text,
    post=Text,
    reasons=Text,
    topic=Text,
    topic_type=Text,
    at=BigInteger,
    offloaded=Integer,
)
"""The inbox: one row for a subscriber and a post; 1 in `offloaded` is for what is not told in real time."""

HISTORY: Final = _table("history", topic=Text, post=Text, topic_type=Text, at=BigInteger, cursor=BigInteger)
"""What happened to a topic, for those who follow it later."""

READ_UP_TO: Final = _table("read_up_to", subscriber=Text, cursor=BigInteger)
READ_SINGLY: Final = _table("read_singly", subscriber=Text, cursor=BigInteger)
"""What was read, by whatever device: everything up to a cursor, and single notifications after it."""

BATCHES: Final = _table(
    "batches",
    run=Text,
    batch=BigInteger,
    first=BigInteger,
    last=BigInteger,
    added=BigInteger,
    notifications=BigInteger,
)
"""Batches that were taken, with the cursors that were set aside for them."""

PROGRESS: Final = _table("progress", name=Text, cursor=BigInteger, at=BigInteger)
"""Five rows. *written*: the last cursor given out, and when; who writes holds it. *forgotten*: the last that is gone.

*decided*: the last of which the engine has decided where it goes; who decides holds it. *retention*: when somebody is
to forget again what is too old. *revoked*: how often a key was revoked, and when.
"""

SUBSCRIBERS: Final = _table("subscribers", name=Text, preferences=Text, tags=Text, made=BigInteger)
API_KEYS: Final = _table("api_keys", hash=Text, subscriber=Text, is_operator=Integer, made=BigInteger)
DEVICES: Final = _table("devices", subscriber=Text, device=Text, kind=Text, seen=BigInteger)
CAPS: Final = _table("caps", subscriber=Text, recent=Text)
DIGEST_QUEUE: Final = _table("digest_queue", subscriber=Text, cursor=BigInteger, due=BigInteger)
OUTBOX: Final = _table(
    "outbox",
    number=BigInteger,
    subscriber=Text,
    channel=Text,
    key=Text,
    message=Text,
    attempts=Integer,
    taken=Integer,
    next_try=BigInteger,
    error=Text,
    added=BigInteger,
    settled=BigInteger,
)
"""What is to be sent, with `next_try`, or has been settled: sent, or given up with an `error`.

`taken` counts how often it has changed hands: who had it before has no say any more.
"""

PAUSED: Final = _table("paused", id=Text, subscriber=Text, body=Text)
"""Subscriptions that are paused, as JSON: where those that are not are kept, nothing is known of them."""

WEBHOOK_SECRETS: Final = _table("webhook_secrets", subscriber=Text, serial=Integer, secret=Text, made=BigInteger)
"""What webhooks are signed with: of each subscriber the last, and the one before it."""

PUBLISHED: Final = _table("published", name=Text, value=Text)
RULES: Final = _table("rules", version=BigInteger, body=Text, made=BigInteger)
SIGNING_KEYS: Final = _table("signing_keys", name=Text, key=Text)
