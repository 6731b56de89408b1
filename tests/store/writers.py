"""What other processes do to a store, in tests that run or kill them."""

import resource
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa

from tests.store.stores import changes, matched
from tidegate.errors import StoreError
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

# Forked from a process that has only imported: quick to start, and no thread of the tests is forked.
_context = get_context("forkserver")
_context.set_forkserver_preload(["tidegate.store.store", "pytest"])


def started(target: Any, *arguments: Any) -> tuple[BaseProcess, "Connection[Any, Any]"]:
    """Start a function in another process; it is given a pipe, of which the other end is returned."""
    here, there = _context.Pipe()
    process = _context.Process(target=target, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


def told(pipe: "Connection[Any, Any]") -> list[Any]:
    """All that a process had said when it ended."""
    said: list[Any] = []
    try:
        while True:
            said.append(pipe.recv())
    except EOFError:
        return said


def apply_batches(
    pipe: "Connection[Any, Any]", url: str, prefix: str, batches: int, options: Mapping[str, str] | None = None
) -> None:
    """Open a store, new or not; apply batches, and say which version each has become."""
    store = Store.open(url, options)
    for number in range(batches):
        rows = {"id": [f"{prefix}{number}"], "subscriber": ["ana"], "query": [f"storm {number}"]}
        pipe.send(store.apply(pa.table(rows)).version)


def subscribe_for_ever(pipe: "Connection[Any, Any]", url: str, prefix: str) -> None:
    """Subscribe from several threads, and say the id of every subscription that was acknowledged."""
    store = Store.open(url)
    lock = Lock()

    def subscribe(thread: int) -> None:
        for number in count():
            made = store.subscribe("ana", f"storm {number}", id=f"{prefix}-{thread}-{number}")
            with lock:
                pipe.send(made)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(subscribe, range(3)))


def subscribe_in_small_files(pipe: "Connection[Any, Any]", folder: Path, most_bytes: int) -> None:
    """Subscribe where no file may grow beyond a size; tell what was acknowledged, and what was said of the rest."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    store = Store.open(folder, create=False)
    complaints = []
    acknowledged = [store.subscribe("ana", "storm", id="before")]
    for work in (
        lambda: store.apply(changes(*[("subscribe", f"many{n}", f"storm word{n}") for n in range(20_000)])),
        lambda: matched(store, "storm word7"),
        lambda: Upkeep(store, Policy(tail_rows=0)).run_once(),
    ):
        try:
            work()
        except StoreError as error:
            complaints.append(str(error))
    acknowledged.append(store.subscribe("ana", "storm", id="behind"))
    pipe.send((acknowledged, complaints))
