"""What tests ask of the machine they run on: a port that is free, a disk that can be filled."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Mount = Callable[[str], Path]


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def small_disk(folder: Path) -> Iterator[Mount]:
    """Yield what mounts a disk of its own there, or mounts it again with other options; skip where nobody may."""

    def mount(options: str) -> Path:
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no disk can be mounted here: {done.stderr.decode().strip()}")
        return folder

    try:
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", folder], capture_output=True, check=False)
