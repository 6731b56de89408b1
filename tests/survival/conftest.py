"""Processes are killed when their test ends, however it ends."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.services.conftest import kafka, spark_kafka  # noqa: F401  (fixtures, for the tests here too)
from tests.survival.process import Process

Mortal = Callable[[Process], Process]


@pytest.fixture
def mortal() -> Iterator[Mortal]:
    """Takes note of a process, and returns it."""
    with ExitStack() as stack:

        def taken(process: Process) -> Process:
            stack.callback(process.kill)
            return process

        yield taken
