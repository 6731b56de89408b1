"""Keys that the service signs with, drawn once for a database: all processes on it sign alike, after restarts too.

Whoever can read the database can sign in its name, as it can read every inbox in it.
"""

import secrets
from base64 import urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import select

from tidegate.deliver.database import Database
from tidegate.deliver.schema import SIGNING_KEYS


class SigningKeys:
    """The keys of one database, each for one purpose."""

    def __init__(self, database: Database) -> None:
        """Draw those that are not there yet."""
        drawn = [{"name": name, "key": secrets.token_hex(32)} for name in ("push", "unsubscribe", "confirm")]
        with database.writing() as connection:
            connection.execute(database.insert(SIGNING_KEYS).on_conflict_do_nothing(), drawn)
            found = connection.execute(select(SIGNING_KEYS.c.name, SIGNING_KEYS.c.key)).all()
        self._keys = {row.name: bytes.fromhex(row.key) for row in found}

    @property
    def push(self) -> ec.EllipticCurvePrivateKey:
        """The key whose public half browsers subscribe with."""
        return ec.derive_private_key(int.from_bytes(self._keys["push"]), ec.SECP256R1())

    @property
    def push_public(self) -> str:
        """That half, as browsers take it: a point of the curve in URL-safe base64."""
        point = self.push.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return urlsafe_b64encode(point).decode().rstrip("=")

    @property
    def unsubscribe(self) -> bytes:
        """The key of links that unsubscribe."""
        return self._keys["unsubscribe"]

    @property
    def confirm(self) -> bytes:
        """The key of links that confirm an address."""
        return self._keys["confirm"]
