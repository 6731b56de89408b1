"""Circuit breakers: a host that keeps failing is left alone for a while, and then tried by one request only."""

from dataclasses import dataclass

from tidegate.deliver.clock import SECOND, Clock


@dataclass
class _Circuit:
    failures: int = 0
    pause: int = 0
    open_until: int = 0
    is_tried: bool = False
    """Whether a request is out to see if the host is well again."""


@dataclass(frozen=True)
class Patience:
    """After so many failures in a row a host is left alone: for `pause` microseconds, doubled up to `longest`."""

    failures: int = 5
    pause: int = 30 * SECOND
    longest: int = 3_600 * SECOND


class Breakers:
    """One circuit for each host; hosts that do well take no room, and of the others `most` are remembered."""

    def __init__(self, clock: Clock, patience: Patience = Patience(), most: int = 10_000) -> None:  # noqa: B008
        """Know nothing of any host."""
        self._clock, self._patience, self._most = clock, patience, most
        self._circuits: dict[str, _Circuit] = {}

    def wait(self, host: str) -> int:
        """0 if a request may go out now, which must then be reported; else how long (microseconds) to wait."""
        circuit = self._circuits.get(host)
        if circuit is None or circuit.failures < self._patience.failures:
            return 0
        left = circuit.open_until - self._clock()
        if left > 0:
            return left
        # Closed again behind the one that goes out, which may never come back to report.
        circuit.open_until = self._clock() + circuit.pause
        circuit.is_tried = True
        return 0

    def succeeded(self, host: str) -> None:
        """The host answers: all is forgotten."""
        self._circuits.pop(host, None)

    def failed(self, host: str) -> None:
        """The host failed once more."""
        # Strangers name the hosts, and may think of more and more: the one that has not failed for longest goes.
        circuit = self._circuits.pop(host, None) or _Circuit()
        if len(self._circuits) >= self._most:
            del self._circuits[next(iter(self._circuits))]
        self._circuits[host] = circuit
        if circuit.open_until > self._clock() and not circuit.is_tried:
            return  # it was under way already when the others failed: together they are one failure more, not many
        circuit.is_tried = False
        circuit.failures += 1
        beyond = min(circuit.failures - self._patience.failures, 32)
        if beyond >= 0:
            circuit.pause = min(self._patience.pause << beyond, self._patience.longest)
            circuit.open_until = self._clock() + circuit.pause

    def is_open(self, host: str) -> bool:
        """Whether the host is being left alone."""
        circuit = self._circuits.get(host)
        return circuit is not None and circuit.open_until > self._clock()
