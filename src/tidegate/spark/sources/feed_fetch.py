"""One conditional HTTP request, bounded in time, size and redirects; only http and https, wherever it is sent on to."""

import http.client
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import IO, Any, Final, NamedTuple
from urllib import request
from urllib.error import HTTPError, URLError

from tidegate.errors import TidegateError

_CHUNK: Final = 1 << 16


class FetchError(TidegateError):
    """A feed that could not be had: why, when to come back if the server said so, and whether it is gone for good."""

    def __init__(self, problem: str, retry_after: float = 0.0, gone: bool = False) -> None:
        """Name the problem; `retry_after` counts seconds from now."""
        super().__init__(problem)
        self.retry_after = retry_after
        self.gone = gone


class Validators(NamedTuple):
    """What the server gave with its last answer, to be asked whether anything is new since."""

    etag: str | None = None
    modified: str | None = None


class Document(NamedTuple):
    """An answer with a body."""

    body: bytes
    content_type: str
    address: str
    """Where it came from, after redirects: relative links start there."""
    validators: Validators


@dataclass(frozen=True)
class Fetcher:
    """How to ask: patience in seconds for one answer, the largest body accepted, and under what name."""

    timeout: float
    most_bytes: int
    user_agent: str

    def fetch(self, url: str, validators: Validators) -> Document | None:
        """The document, or None if it has not changed; anything else is a `FetchError`."""
        # The time-out of a socket bounds each wait, and there is no end of waits in a body that drips.
        deadline = time.monotonic() + self.timeout
        try:
            with _opener().open(self._request(url, validators), timeout=self.timeout) as response:
                return Document(
                    body=self._body(response, deadline),
                    content_type=response.headers.get("Content-Type", ""),
                    address=response.url,
                    validators=Validators(response.headers.get("ETag"), response.headers.get("Last-Modified")),
                )
        except HTTPError as error:
            error.close()
            if error.code == HTTPStatus.NOT_MODIFIED:
                return None
            raise FetchError(
                f"the server answered {error.code} {error.reason}",
                retry_after=_seconds_until(error.headers.get("Retry-After")),
                gone=error.code == HTTPStatus.GONE,
            ) from error
        except TimeoutError as error:
            raise self._too_slow() from error
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._too_slow() from error
            raise FetchError(f"no connection: {error.reason}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise FetchError(f"no proper answer: {error!r}") from error

    def _request(self, url: str, validators: Validators) -> request.Request:
        asked = request.Request(url, headers={"User-Agent": self.user_agent})
        if validators.etag:
            asked.add_header("If-None-Match", validators.etag)
        if validators.modified:
            asked.add_header("If-Modified-Since", validators.modified)
        return asked

    def _body(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        body = bytearray()
        while chunk := response.read1(_CHUNK):
            body += chunk
            if len(body) > self.most_bytes:
                raise FetchError(f"the document is larger than {self.most_bytes:,} bytes; raise maxBytes to accept it")
            if time.monotonic() > deadline:
                raise self._too_slow()
        # Reading in pieces, http.client ends in silence where a connection was cut.
        if response.length:
            raise FetchError(f"the document was cut off, {response.length:,} bytes before its end")
        return bytes(body)

    def _too_slow(self) -> FetchError:
        return FetchError(f"no complete answer within {self.timeout:g} s; raise timeout to wait longer")


class _WebRedirects(request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> request.Request | None:
        if not newurl.startswith(("http://", "https://")):
            raise FetchError(f"the server sent us on to {newurl!r}, which is neither http nor https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> request.OpenerDirector:
    """An opener that, unlike the default one, knows nothing of files and FTP."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
        _WebRedirects,
    ):
        opener.add_handler(handler())
    return opener


def _seconds_until(retry_after: str | None) -> float:
    """The wait that a Retry-After header asks for, in seconds or as a date; 0 if it makes no sense.

    >>> _seconds_until("120"), _seconds_until("soon"), _seconds_until(None)
    (120.0, 0.0, 0.0)
    """
    if retry_after is None:
        return 0.0
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
