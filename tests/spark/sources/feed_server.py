"""A web server on loopback that answers each path as a test tells it to."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What to say to one request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    etag: str | None = None
    """Sent along, and answered with 304 where the client has it."""
    seconds_per_byte: float = 0.0
    cut_at: int | None = None
    """Close the connection after so many bytes of the body."""


class FeedServer(ThreadingHTTPServer):
    """Answers by path; what is not there is 404."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Answer | Callable[[], Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def asked(self, path: str) -> int:
        return sum(1 for one, _ in self.requests if one == path)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, FeedServer)
        self.server.requests.append((self.path, dict(self.headers)))
        found = self.server.answers.get(self.path, Answer(status=404))
        answer = found if isinstance(found, Answer) else found()
        if answer.etag and self.headers.get("If-None-Match") == answer.etag:
            answer = Answer(status=304)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.etag:
            self.send_header("ETag", answer.etag)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        body = answer.body[: answer.cut_at]
        try:
            if not answer.seconds_per_byte:
                self.wfile.write(body)
                return
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(answer.seconds_per_byte)
        except OSError:
            return  # the client would not wait, which is what such a test is about

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def serving() -> Iterator[FeedServer]:
    with FeedServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def rss(*numbers: int, language: str = "en-US") -> bytes:
    """A feed with these entries, the first on top."""
    items = "".join(
        f"<item><guid>http://a.org/{n}</guid><title>Title {n}</title><description>Storm {n}</description>"
        f"<pubDate>Thu, 01 Jan 2026 00:{n // 60:02}:{n % 60:02} GMT</pubDate></item>"
        for n in numbers
    )
    head = f"<title>Feed</title><language>{language}</language>"
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()
