"""What processes on one database let each other know: where the service is reached from outside."""

from typing import Final

from sqlalchemy import select

from tidegate.deliver.database import Database
from tidegate.deliver.public_addresses import AddressError, web_target
from tidegate.deliver.schema import PUBLISHED
from tidegate.errors import ConfigError

UNSUBSCRIBE: Final = "/unsubscribe/"
"""Below the service's address: where letters say that no more of them are wanted."""

CONFIRM: Final = "/confirm/"
"""Where letters that ask are answered."""

_ADDRESS: Final = "address"


class PublicAddress:
    """The address of the service, as others see it."""

    def __init__(self, database: Database) -> None:
        """Use a database."""
        self._database = database

    def publish(self, address: str) -> None:
        """Let it be known, and replace the one before; `ConfigError` if it cannot be one."""
        values = {"value": checked_address(address)}
        made = self._database.insert(PUBLISHED).values(name=_ADDRESS, **values)
        with self._database.writing() as connection:
            connection.execute(made.on_conflict_do_update(index_elements=["name"], set_=values))

    def get(self) -> str | None:
        """The address without a slash at its end; None if none was published."""
        query = select(PUBLISHED.c.value).where(PUBLISHED.c.name == _ADDRESS)
        with self._database.reading() as connection:
            return connection.execute(query).scalar()


def checked_address(address: str) -> str:
    """An address with https, without a slash at its end: mail programs post to it unasked, and nobody is to read it."""
    try:
        target = web_target(address)
    except AddressError as error:
        raise ConfigError(f"the public address: {error}") from error
    if target.scheme != "https" or "?" in address or "#" in address:
        raise ConfigError(f"the public address is {address!r:.80}: give one that begins with https://, as in a browser")
    return address.rstrip("/")
