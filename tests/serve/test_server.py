"""Connections as the system keeps them."""

import json
import socket
import time
from urllib.parse import urlsplit

import pytest

from tests.serve.scene import matches
from tidegate.serve import server
from tidegate.serve.service import Service


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such option")
def test_a_reader_that_takes_nothing_any_more_is_gone_after_a_while(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not hung up: as with a phone in a tunnel, nobody will ever hear of it."""
    monkeypatch.setattr(server, "_SILENT_MS", 1000)
    key = service.keys.issue("ana")
    batch = [
        {**one, "post": json.dumps({"text": "x" * 20_000})} for one in matches("ana", [f"p{n}" for n in range(900)])
    ]
    with server.serving(service, "127.0.0.1", 0) as address:
        there = ("127.0.0.1", urlsplit(address).port or 0)
        with socket.create_connection(there) as connection:
            connection.sendall(f"GET /live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
            _until(lambda: service.hub.is_online("ana"))
            service.inbox.add(batch, "run", 0)
            _until(lambda: not service.hub.is_online("ana"))


def _until(holds: object) -> None:
    assert callable(holds)
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)
