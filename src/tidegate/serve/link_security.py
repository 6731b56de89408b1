"""What protects the links of a site: a key that both ends share, and TLS by files of certificates."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from tidegate.deliver.ends import read_key
from tidegate.errors import ConfigError


@dataclass(frozen=True)
class LinkSecurity:
    """Files, none of which has to be given: on loopback no key is needed, and TLS nowhere if there is a key."""

    key_file: Path | None = None
    """The key, the same at all sites."""
    certificate: Path | None = None
    """What this end shows of itself: certificates and the private key, as PEM."""
    authority: Path | None = None
    """Who vouches for the other end. At the end that waits, too: then callers have to show a certificate."""

    def key(self) -> bytes | None:
        """The key, without line ends around it."""
        return None if self.key_file is None else read_key(self.key_file, "links")

    def for_waiting(self) -> ssl.SSLContext | None:
        """How the end that waits speaks TLS; None: it does not."""
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._load(context)
        if self.authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def for_calling(self) -> ssl.SSLContext | None:
        """How the end that calls speaks TLS; None: it does not."""
        if self.certificate is None and self.authority is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.authority is None:
            context.load_default_certs()  # else these are not asked: they vouch for anybody
        self._load(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        try:
            if self.certificate is not None:
                context.load_cert_chain(self.certificate)
            if self.authority is not None:
                context.load_verify_locations(self.authority)
        except OSError as error:
            files = ", ".join(str(file) for file in (self.certificate, self.authority) if file is not None)
            raise ConfigError(f"the certificates of links cannot be read from {files}: {error}") from error
