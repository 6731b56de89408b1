"""Links beyond this machine need a key; with certificates they are by TLS, and both ends are asked for theirs."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.deliver.test_link import until
from tests.deliver.test_webhook import certificate
from tests.serve.process import free_port
from tidegate.deliver.ends import Address
from tidegate.deliver.link import Link
from tidegate.deliver.site import Site
from tidegate.errors import ConfigError
from tidegate.serve.link_security import LinkSecurity
from tidegate.serve.links import Links

HOST = "127.0.0.7"
"""Of which the certificate says that it is its own."""


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "link.key"
    path.write_text("a key that two sites share\n")
    return path


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    """A certificate with its key, which vouches for itself."""
    path = tmp_path / "site.pem"
    path.write_bytes(b"".join(file.read_bytes() for file in certificate(tmp_path, "site.example")))
    return path


class Pair(NamedTuple):
    """A link between a site that waits and one that calls, seen from both."""

    ear: Link
    mouth: Link

    @property
    def is_up(self) -> bool:
        return self.ear.is_up and self.mouth.is_up


@asynccontextmanager
async def linked(here: LinkSecurity, there: LinkSecurity) -> AsyncIterator[Pair]:
    address = Address(HOST, free_port())
    waits, calls = Links(Site("here", "A"), [address], [], here), Links(Site("there", "A"), [], [address], there)
    (ear,), (mouth,) = waits.at.values(), calls.to.values()
    async with waits.up(), calls.up():
        yield Pair(ear, mouth)


def hear_each_other(here: LinkSecurity, there: LinkSecurity) -> None:
    async def scene() -> None:
        async with linked(here, there) as pair:
            await until(lambda: pair.is_up, "they hear each other")

    asyncio.run(scene())


def test_two_sites_are_linked_by_tls_with_a_key(key_file: Path, pem: Path) -> None:
    hear_each_other(LinkSecurity(key_file, pem, pem), LinkSecurity(key_file, pem, pem))


def test_a_caller_needs_no_certificate_where_none_is_asked_for(key_file: Path, pem: Path) -> None:
    hear_each_other(LinkSecurity(key_file, pem), LinkSecurity(key_file, None, pem))


def test_no_key_is_needed_on_loopback() -> None:
    hear_each_other(LinkSecurity(), LinkSecurity())


def test_a_caller_without_the_certificate_that_is_asked_for_is_not_heard(
    key_file: Path, pem: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def scene() -> None:
        async with linked(LinkSecurity(key_file, pem, pem), LinkSecurity(key_file, None, pem)) as pair:
            await until(lambda: pair.mouth.traffic.refused >= 2, "the caller has tried")
            assert not pair.ear.has_connection
            assert not pair.is_up

    asyncio.run(scene())


def test_a_site_that_nobody_vouches_for_is_not_called(
    key_file: Path, pem: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    other = tmp_path / "other"
    other.mkdir()
    authority, _ = certificate(other, "site.example")

    async def scene() -> None:
        async with linked(LinkSecurity(key_file, pem), LinkSecurity(key_file, None, authority)) as pair:
            await until(lambda: "certificate verify failed" in caplog.text, "the caller has seen a certificate")
            assert not pair.is_up

    asyncio.run(scene())


def test_where_an_authority_is_named_no_other_vouches_for_the_site_that_is_called(
    key_file: Path, pem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    authority, _ = certificate(other, "site.example")
    # What the machine trusts: as public authorities are, whom anybody may ask for a certificate.
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    context = LinkSecurity(key_file, pem, authority).for_calling()
    assert context is not None
    assert context.get_ca_certs(binary_form=True) == [ssl.PEM_cert_to_DER_cert(authority.read_text())]
    usual = LinkSecurity(key_file, pem).for_calling()
    assert usual is not None
    assert usual.cert_store_stats()["x509_ca"] == 1


def test_beyond_this_machine_there_has_to_be_a_key(key_file: Path) -> None:
    address, site = Address("10.1.0.7", 9101), Site("s", "A")
    for at, to in (((address,), ()), ((), (address,))):
        with pytest.raises(ConfigError, match=r"10\.1\.0\.7:9101: a link beyond this machine needs a key"):
            Links(site, at, to)
        Links(site, at, to, LinkSecurity(key_file))


def test_files_that_are_no_use_are_named(tmp_path: Path, key_file: Path, pem: Path) -> None:
    missing, short = tmp_path / "missing", tmp_path / "short"
    short.write_text("too short\n")
    site = Site("s", "A")
    for security, said in (
        (LinkSecurity(missing), "missing, cannot be read"),
        (LinkSecurity(short), "has 9 bytes: write 16 at least"),
        (LinkSecurity(key_file, missing), "cannot be read from .*missing"),
        (LinkSecurity(key_file, key_file), "cannot be read from .*link.key"),
        (LinkSecurity(key_file, pem, key_file), "cannot be read from .*link.key"),
        (LinkSecurity(key_file, None, pem), "give --link-certificate"),
    ):
        with pytest.raises(ConfigError, match=said):
            Links(site, [Address(HOST, 9101)], [], security)
