import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.spark.sources.feed_entries import SCHEMA, Entry, FeedError, entries_of, record_batch
from tidegate.spark.sources.feed_fetch import Document, Validators

FEED = "http://a.org/feed"
NOW = 1_800_000_000.0
NEW_YEAR = 1_767_225_600_000_000

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>T</title><author><name>Ann</name></author>
<entry><id>urn:x:1</id><title>A &lt; B</title><updated>2026-01-01T02:00:00+02:00</updated><link href="/p/1"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>un<b>believ</b>able<br/>you &amp; me</p></div>
</content></entry></feed>"""


def read(body: str | bytes) -> list[Entry]:
    raw = body if isinstance(body, bytes) else body.encode()
    return entries_of(Document(raw, "text/xml; charset=utf-8", FEED, Validators()), FEED, NOW)


def item(inner: str) -> Entry:
    (entry,) = read(f'<rss version="2.0"><channel><item>{inner}</item></channel></rss>')
    return entry


def test_an_atom_entry_is_read_with_its_links_resolved_and_its_tags_taken_out() -> None:
    assert read(ATOM) == [
        Entry(
            id="urn:x:1",
            ts=NEW_YEAR,
            author="Ann",
            text="A < B\nunbelievable you & me",
            title="A < B",
            link="http://a.org/p/1",
            feed=FEED,
            lang="de",
        )
    ]


def test_html_in_a_summary_is_stripped_with_its_scripts() -> None:
    entry = item(
        "<title>x</title><description>&lt;p&gt;Hi &amp;amp; bye&lt;/p&gt;&lt;script&gt;f()&lt;/script&gt;</description>"
    )
    assert entry.text == "x\nHi & bye"


def test_an_id_that_only_its_feed_knows_is_made_the_feeds_own() -> None:
    assert item('<guid isPermaLink="false">17</guid><title>x</title>').id == f"{FEED}#17"
    assert item("<guid>tag:a.org,2026:1</guid><title>x</title>").id == "tag:a.org,2026:1"
    assert item("<link>http://a.org/1</link><title>x</title>").id == "http://a.org/1"


def test_an_entry_without_id_and_link_is_known_by_its_text() -> None:
    assert item("<title>x</title>").id == item("<title>x</title>").id != item("<title>y</title>").id


@pytest.mark.parametrize("date", ["", "<pubDate>soon</pubDate>", "<pubDate>Fri, 01 Jan 2060 00:00:00 GMT</pubDate>"])
def test_an_entry_with_no_date_or_one_ahead_of_time_is_of_now(date: str) -> None:
    assert item(f"<title>x</title>{date}").ts == int(NOW * 1e6)


def test_entries_come_oldest_first_and_each_id_once() -> None:
    items = "".join(
        f"<item><guid>a:{n}</guid><pubDate>0{n} Jan 2026 00:00:00 GMT</pubDate></item>" for n in (3, 2, 3, 1)
    )
    assert [entry.id for entry in read(f"<rss><channel>{items}</channel></rss>")] == ["a:1", "a:2", "a:3"]


def test_a_malformed_feed_gives_what_can_be_made_out() -> None:
    assert [entry.title for entry in read("<rss version='2.0'><channel><item><title>A & B</title></item><item>")] == [
        "A & B"
    ]


@pytest.mark.parametrize("body", ["", "<html><body>Welcome</body></html>", "nothing of the kind", b"\x00\xff\xfe\x01"])
def test_what_is_no_feed_is_refused(body: str | bytes) -> None:
    with pytest.raises(FeedError, match="no RSS or Atom"):
        read(body)


def test_an_empty_feed_is_a_feed() -> None:
    assert read("<rss version='2.0'><channel><title>t</title></channel></rss>") == []


def test_entities_that_multiply_are_not_followed() -> None:
    doublings = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "lol">{doublings}<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    entries = read(
        f"<?xml version='1.0'?>{bomb}<rss version='2.0'><channel><item><title>x &e9; &f;</title></item></channel></rss>"
    )
    assert sum(len(entry.text) for entry in entries) < 100


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=40))
def test_any_text_ends_as_text_that_can_be_stored(text: str) -> None:
    references = "".join(f"&#{ord(character)};" for character in text)
    for entry in read(
        f"<rss version='2.0'><channel><item><guid>{references}</guid><title>{references}</title></item></channel></rss>"
    ):
        assert record_batch([entry]).to_pylist()[0]["text"] == entry.text


def test_entries_become_columns() -> None:
    assert record_batch([]).schema == SCHEMA
    assert record_batch(read(ATOM)).schema == SCHEMA
