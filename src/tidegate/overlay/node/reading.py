"""Reading bytes that anybody may have written: never past their end, and all of them."""

import struct
from typing import Any

from tidegate.errors import TidegateError


class MalformedError(TidegateError):
    """Bytes that mean nothing in the schema."""


class Reader:
    """Takes one thing after the other from some bytes."""

    def __init__(self, data: bytes) -> None:
        """From the first byte on."""
        self._data, self.at = data, 0

    def taken(self, count: int) -> bytes:
        """Return the next `count` bytes; `MalformedError` if there are fewer."""
        end = self.at + count
        if end > len(self._data):
            raise MalformedError(f"{count} bytes are announced, {len(self._data) - self.at} are there")
        taken, self.at = self._data[self.at : end], end
        return taken

    def unpacked(self, form: struct.Struct) -> tuple[Any, ...]:
        """Return the next numbers."""
        return form.unpack(self.taken(form.size))

    def since(self, begin: int) -> bytes:
        """Return what was taken from a place on."""
        return self._data[begin : self.at]

    def rest(self) -> bytes:
        """Return all that is left."""
        return self.taken(len(self._data) - self.at)

    def end(self) -> None:
        """Refuse what has more to it than it should."""
        if self.at < len(self._data):
            raise MalformedError(f"{len(self._data) - self.at} bytes too many")
