import socket
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from tests.spark.sources.feed_server import Answer, FeedServer, rss, serving
from tidegate.spark.sources.feed_fetch import Document, Fetcher, FetchError, Validators

FETCHER = Fetcher(timeout=5.0, most_bytes=10_000, user_agent="test reader")


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with serving() as running:
        yield running


def fetch(server: FeedServer, answer: Answer, fetcher: Fetcher = FETCHER) -> Document | None:
    server.answers["/feed"] = answer
    return fetcher.fetch(server.url("/feed"), Validators())


def failure(server: FeedServer, answer: Answer, fetcher: Fetcher = FETCHER) -> FetchError:
    with pytest.raises(FetchError) as raised:
        fetch(server, answer, fetcher)
    return raised.value


def test_a_document_comes_with_its_validators(server: FeedServer) -> None:
    document = fetch(server, Answer(rss(1), etag='"1"', headers={"Last-Modified": "yesterday", "Content-Type": "a/b"}))
    assert document == Document(rss(1), "a/b", server.url("/feed"), Validators('"1"', "yesterday"))
    assert server.requests[0][1]["User-Agent"] == "test reader"


def test_a_document_that_has_not_changed_is_not_sent_again(server: FeedServer) -> None:
    server.answers["/feed"] = Answer(rss(1), etag='"1"')
    assert FETCHER.fetch(server.url("/feed"), Validators('"1"', "yesterday")) is None
    assert server.requests[0][1]["If-Modified-Since"] == "yesterday"


def test_a_redirect_is_followed_and_the_new_address_reported(server: FeedServer) -> None:
    server.answers["/new"] = Answer(rss(1))
    document = fetch(server, Answer(status=301, headers={"Location": "/new"}))
    assert document is not None
    assert document.address == server.url("/new")


def test_redirects_without_end_are_given_up(server: FeedServer) -> None:
    assert "redirect" in str(failure(server, Answer(status=302, headers={"Location": "/feed"})))
    assert server.asked("/feed") < 10


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_a_redirect_leads_nowhere_but_to_the_web(server: FeedServer, target: str) -> None:
    answer = Answer(status=302, headers={"Location": target})
    assert target.split(":", maxsplit=1)[0] in str(failure(server, answer))


def test_an_address_that_is_no_web_address_is_not_opened() -> None:
    with pytest.raises(FetchError, match="unknown url type"):
        FETCHER.fetch("file:///etc/hostname", Validators())


def test_an_error_says_when_to_come_back(server: FeedServer) -> None:
    assert failure(server, Answer(status=503, headers={"Retry-After": "120"})).retry_after == 120
    at = formatdate(time.time() + 600, usegmt=True)
    assert 590 < failure(server, Answer(status=429, headers={"Retry-After": at})).retry_after <= 600
    plain = failure(server, Answer(status=500, headers={"Retry-After": "later"}))
    assert (plain.retry_after, plain.gone) == (0.0, False)
    assert "500" in str(plain)


def test_gone_means_gone(server: FeedServer) -> None:
    assert failure(server, Answer(status=410)).gone


def test_a_body_is_read_up_to_its_bound_and_no_further(server: FeedServer) -> None:
    exact = fetch(server, Answer(b"x" * 10_000))
    assert exact is not None
    assert len(exact.body) == 10_000
    assert "larger than 10,000 bytes; raise maxBytes" in str(failure(server, Answer(b"x" * 5_000_000)))


def test_a_server_that_drips_is_left(server: FeedServer) -> None:
    began = time.monotonic()
    dripping = Answer(b"x" * 1000, seconds_per_byte=0.05)
    error = failure(server, dripping, Fetcher(timeout=0.3, most_bytes=10_000, user_agent="t"))
    assert "no complete answer within 0.3 s" in str(error)
    assert time.monotonic() - began < 5


def test_a_server_that_never_answers_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(FetchError, match=r"no complete answer within 0\.2 s"):
            Fetcher(timeout=0.2, most_bytes=10, user_agent="t").fetch(url, Validators())


def test_a_document_that_was_cut_off_is_not_taken_for_whole(server: FeedServer) -> None:
    assert "cut off" in str(failure(server, Answer(rss(1, 2, 3), cut_at=100)))


def test_a_port_where_nobody_listens_is_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    with pytest.raises(FetchError, match="no connection"):
        FETCHER.fetch(url, Validators())
