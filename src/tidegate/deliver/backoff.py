"""How long to wait before the next attempt: longer after each failure, and never all at the same time."""

from dataclasses import dataclass

from tidegate.deliver.clock import SECOND


@dataclass(frozen=True)
class Backoff:
    """After the n-th failure, between half of and all of `first` * `factor` ** (n - 1), `longest` at most.

    With the values given here the twelve attempts are spread over a day or so.
    """

    first: int = 5 * SECOND
    factor: float = 3.0
    longest: int = 6 * 3_600 * SECOND
    attempts: int = 12

    def wait(self, failures: int, draw: float) -> int | None:
        """Microseconds to wait after so many failures; None: give up. `draw` is a random number in [0, 1)."""
        if failures >= self.attempts:
            return None
        # Powers beyond the limit would overflow.
        steps = min(failures - 1, 64)
        full = min(self.first * self.factor**steps, self.longest)
        return int(full * (1 + draw) / 2)
