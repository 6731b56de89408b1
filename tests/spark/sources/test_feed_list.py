from pathlib import Path

import pytest

from tidegate.errors import ConfigError
from tidegate.spark.sources.feed_list import listed

OPML = """<?xml version="1.0"?><opml version="2.0"><head><title>Mine</title></head><body>
<outline text="News"><outline text="A" type="rss" xmlUrl="https://a.org/rss"/>
<outline text="B" xmlUrl=" http://b.org/atom?x=1&amp;y=2 "/></outline>
<outline text="A again" xmlUrl="https://a.org/rss"/><outline text="an empty folder"/></body></opml>"""


def written(folder: Path, text: str) -> Path:
    path = folder / "feeds"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_has_one_address_a_line_with_comments(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# mine\nhttps://a.org/rss\n\n  http://b.org/atom#top \nhttps://a.org/rss\n")
    assert listed(path) == ["https://a.org/rss", "http://b.org/atom#top"]


def test_opml_is_read_through_its_folders_and_each_address_once(tmp_path: Path) -> None:
    assert listed(written(tmp_path, OPML)) == ["https://a.org/rss", "http://b.org/atom?x=1&y=2"]


@pytest.mark.parametrize("address", ["ftp://a.org/rss", "file:///etc/hosts", "a.org/rss", "http://", "http://[a/"])
def test_what_is_no_web_address_is_refused_by_name(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="give http or https addresses") as refusal:
        listed(written(tmp_path, address))
    assert repr(address) in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("# none\n", "names no feed"), ("<opml><body></opml>", "is no OPML"), ("<opml/>", "names no feed")],
)
def test_a_list_without_feeds_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        listed(written(tmp_path, text))


def test_a_list_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing cannot be read"):
        listed(tmp_path / "missing")
