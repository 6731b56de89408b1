"""The rules in force: read anew when their source has another version, without a restart."""

import logging
from collections.abc import Hashable
from pathlib import Path
from typing import Protocol

from tidegate.deliver.rules import Rules
from tidegate.errors import ConfigError, TidegateError

_LOG = logging.getLogger(__name__)


class RuleSource(Protocol):
    """Where rules are kept: a file, a table."""

    def version(self) -> Hashable:
        """Something cheap to ask for that differs whenever the rules may."""

    def text(self) -> str:
        """The rules as JSON; `TidegateError` if they cannot be read."""


class RuleFile:
    """Rules in a file; its version is who it is, how long, and when it was written."""

    def __init__(self, path: Path) -> None:
        """Look at nothing yet."""
        self.path = path

    def version(self) -> Hashable:
        """None where there is no file."""
        try:
            about = self.path.stat()
        except OSError:
            return None
        return about.st_ino, about.st_size, about.st_mtime_ns

    def text(self) -> str:
        """What the file holds."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.path}: no rules can be read ({error}): give a file of JSON") from error


class WatchedRules:
    """Rules that follow their source. A version that is wrong changes nothing: the last good rules stay in force.

    `problem` then says what is wrong, until a version is right.
    """

    def __init__(self, source: RuleSource) -> None:
        """Read the rules; the first ones must be right."""
        self._source = source
        self._version = source.version()
        self._rules = Rules.parse(source.text())
        self.problem: str | None = None

    def current(self) -> Rules:
        """The rules in force now; asks the source for its version, and for more only if that has changed."""
        version = self._source.version()
        if version != self._version:
            # The version is taken before the text: a change in between is seen again, and never missed.
            self._version = version
            try:
                self._rules, self.problem = Rules.parse(self._source.text()), None
            except TidegateError as error:
                self.problem = str(error)
                _LOG.warning("the rules are unchanged, the new ones are refused: %s", error)
        return self._rules
