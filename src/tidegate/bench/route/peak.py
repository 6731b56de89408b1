"""How much memory this process needs at most while it does something, where the system tells."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_FORGET: Final = Path("/proc/self/clear_refs")


class Peak:
    """The most that was resident, in bytes; None where the system does not tell."""

    resident: int | None = None


@contextmanager
def peak() -> Iterator[Peak]:
    """Watch what is done under it; the figure is there in the end."""
    found = Peak()
    try:
        _FORGET.write_text("5")  # the kernel's word for: begin the peak anew
    except OSError:
        yield found
        return
    yield found
    told = re.search(r"^VmHWM:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    found.resident = 1024 * int(told[1]) if told else None
