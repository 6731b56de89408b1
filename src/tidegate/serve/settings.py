"""What a service is told when it starts."""

from dataclasses import dataclass, field
from pathlib import Path

from tidegate.deliver.database import CONNECTIONS
from tidegate.deliver.ends import Address
from tidegate.serve.link_security import LinkSecurity


@dataclass(frozen=True)
class Limits:
    """What one key, one request and one subscriber may ask for."""

    requests_per_s: float = 50.0
    burst: int = 200
    """A key may ask so often on the average, and so many times at once."""
    refused_per_s: float = 5.0
    refused_burst: int = 50
    """The same of an address whose requests come with no valid key: keys are not to be guessed."""
    body_bytes: int = 1 << 20
    query_characters: int = 2048
    posts_at_once: int = 1000
    subscriptions: int = 1000
    """Of one subscriber, those that are paused among them."""
    feeds: int = 100
    """Live feeds of one subscriber that are open at once."""
    matches_per_day: float = 20_000.0
    """A subscription that is likely to match more posts is refused."""


@dataclass(frozen=True)
class LiveSettings:
    """How live feeds are kept."""

    poll_s: float = 0.05
    """How often the inbox is asked what is new, once for all feeds."""
    heartbeat_s: float = 15.0
    queue: int = 256
    """Events that may wait for a slow reader; with more, it catches up from the inbox."""
    longest_s: float = 3600.0
    """A feed ends after so long, and the client comes back with its cursor: so no connection is for ever."""


@dataclass(frozen=True)
class SiteSettings:
    """Where the service is among others, which tell each other of presence. Each two have a link of their own."""

    name: str = "here"
    brokers: tuple[str, ...] = ("broker",)
    """The same at all sites."""
    most_kept: int = 10_000
    """Topics of which a broker keeps the last event, for those who come later."""
    links_at: tuple[Address, ...] = ()
    """Where other sites are waited for, one at each."""
    links_to: tuple[Address, ...] = ()
    """Where other sites wait."""
    security: LinkSecurity = field(default_factory=LinkSecurity)


@dataclass(frozen=True)
class Settings:
    """Where everything is, and what is allowed."""

    store: str
    database: str
    posts: Path
    """The folder of the posts that are handed in here: JSON lines, as `tidegate run --posts json:FOLDER` reads them."""
    recent: int = 5000
    """Posts that are remembered, for dry runs and estimates."""
    public_address: str | None = None
    """Where the service is reached from outside, as in https://tide.example: the links in letters lead there."""
    keep_days: float = 90
    """What is in inboxes is forgotten so long after it came; 0: never."""
    connections: int = CONNECTIONS
    """To the database, kept open."""
    limits: Limits = field(default_factory=Limits)
    live: LiveSettings = field(default_factory=LiveSettings)
    site: SiteSettings = field(default_factory=SiteSettings)
