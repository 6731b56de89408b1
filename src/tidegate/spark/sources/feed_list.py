"""Which feeds to read: addresses given one by one, in a list of lines, or as OPML, the format readers exchange."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from tidegate.errors import ConfigError


def listed(path: Path) -> list[str]:
    """The addresses in a file, in order and each once: OPML, or one a line, with `#` comments."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the list of feeds {path} cannot be read: {error}") from error
    found = _outlines(text, path) if text.lstrip().startswith("<") else _lines(text)
    return checked(found, f"the list of feeds {path}")


def checked(addresses: Iterable[str], source: str) -> list[str]:
    """The addresses each once; none, or one that is not http or https, is refused in the name of `source`.

    >>> checked(["http://a.org/rss", "http://a.org/rss"], "the option urls")
    ['http://a.org/rss']
    """
    distinct = list(dict.fromkeys(addresses))
    if not distinct:
        raise ConfigError(f"{source} names no feed; give at least one http or https address")
    for address in distinct:
        if not _is_web_address(address):
            raise ConfigError(f"{source} has {address!r}; give http or https addresses")
    return distinct


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def _outlines(text: str, path: Path) -> list[str]:
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ConfigError(f"the list of feeds {path} is no OPML: {error}") from error
    # Folders are outlines too, only without an address.
    return [outline.attrib["xmlUrl"].strip() for outline in root.iter("outline") if outline.get("xmlUrl")]


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
