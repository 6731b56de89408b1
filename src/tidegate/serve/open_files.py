"""How many files and sockets this process may hold open: every live feed is one."""

import resource
from typing import Final

from tidegate.errors import ConfigError

# Beside those that are counted: the database's, a log, whatever is being read.
_OTHERS: Final = 200


def allow_open_files(needed: int | None = None) -> int:
    """Raise the limit as far as it can be, and return it; refuse, with the remedy, if fewer than needed are left."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if needed is not None and most < needed + _OTHERS:
        raise ConfigError(
            f"{needed:,} connections need {needed + _OTHERS:,} open files, and a process may have {most:,}: "
            "raise the hard limit (ulimit -Hn as root, LimitNOFILE= of a systemd unit, --ulimit nofile= of a container)"
        )
    return most
