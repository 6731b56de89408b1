"""What a feed says: RSS or Atom, as served, to entries of plain text."""

import calendar
import hashlib
import io
from typing import Any, Final, NamedTuple

import feedparser
import pyarrow as pa

from tidegate.errors import TidegateError
from tidegate.spark.sources.feed_fetch import Document
from tidegate.spark.sources.markup import text_of

SCHEMA: Final = pa.schema(
    {
        "id": pa.string(),
        "ts": pa.timestamp("us", tz="UTC"),
        "author": pa.string(),
        "text": pa.string(),
        "title": pa.string(),
        "link": pa.string(),
        "feed": pa.string(),
        "lang": pa.string(),
    }
)


class FeedError(TidegateError):
    """A document that is no feed."""


class Entry(NamedTuple):
    """One entry, in the columns of `SCHEMA`."""

    id: str
    ts: int
    """Microseconds since 1970, in UTC."""
    author: str | None
    text: str
    title: str | None
    link: str | None
    feed: str
    lang: str | None


def entries_of(document: Document, feed: str, now: float) -> list[Entry]:
    """The entries of a document, oldest first, each id once; what is no feed at all is a `FeedError`.

    Malformed feeds are common, and give what can be made out. An entry with no date, or one in the future, is of
    `now` (seconds): a date ahead of time would carry a query's watermark with it.
    """
    headers = {"content-type": document.content_type, "content-location": document.address}
    # All tags go, so there is no point in having them cleaned first, nor in the time that hostile ones make it take.
    parsed = feedparser.parse(
        io.BytesIO(document.body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
    )
    if not parsed.get("version") and not parsed.entries:
        raise FeedError(f"no RSS or Atom: {parsed.get('bozo_exception', 'the document has no feed element')}")
    found = {entry.id: entry for entry in (_entry(item, parsed.feed, feed, now) for item in parsed.entries) if entry}
    return sorted(found.values(), key=lambda entry: entry.ts)


def record_batch(entries: list[Entry]) -> pa.RecordBatch:
    """Entries as Arrow columns."""
    columns = zip(*entries, strict=True) if entries else [()] * len(SCHEMA)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def _entry(item: Any, channel: Any, feed: str, now: float) -> Entry | None:
    title = _plain(item.get("title"), item.get("title_detail"))
    summary = _plain(item.get("summary"), item.get("summary_detail"))
    text = "\n".join(part for part in (title, summary) if part)
    link = _encodable(item.get("link"))
    given = _encodable(item.get("id")) or link
    if not given and not text:
        return None
    return Entry(
        id=_identity(given, feed, text),
        ts=int(_moment(item, now) * 1_000_000),
        author=_encodable(item.get("author")) or _encodable(channel.get("author")) or None,
        text=text,
        title=title or None,
        link=link or None,
        feed=feed,
        lang=_language(item, channel),
    )


def _identity(given: str | None, feed: str, text: str) -> str:
    """An id that no other feed uses: an address or a URN is one already, a bare number is not."""
    if given and ":" in given:
        return given
    return f"{feed}#{given or hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def _moment(item: Any, now: float) -> float:
    # Asked for a missing `updated_parsed`, feedparser would answer with the other date, and a warning.
    key = "updated_parsed" if "updated_parsed" in item and not item.get("published_parsed") else "published_parsed"
    written = item.get(key)
    try:
        return min(float(calendar.timegm(written)), now) if written else now
    except (ValueError, OverflowError):  # a date, but of no calendar
        return now


def _language(item: Any, channel: Any) -> str | None:
    """The primary part of the language tag: `en` for `en-US`, as `lang:en` asks for it."""
    tag = (item.get("title_detail") or {}).get("language") or channel.get("language") or ""
    return _encodable(tag).replace("_", "-").split("-")[0].lower() or None


def _plain(value: str | None, detail: Any) -> str:
    """Text on one line, its tags taken out unless it is declared to have none."""
    text = _encodable(value)
    return " ".join(text.split()) if detail and detail.get("type") == "text/plain" else text_of(text)


def _encodable(value: str | None) -> str:
    """The value as UTF-8 can hold it: character references can name halves of surrogate pairs."""
    return (value or "").encode("utf-8", "replace").decode()
