"""How much a subscription would bring, told before it is made; and the refusal of those that would bring too much."""

from dataclasses import dataclass
from math import sqrt
from typing import Final

from tidegate.errors import ConfigError

# From fewer posts nothing can be told about how many a day will match.
_ENOUGH: Final = 100
_Z: Final = 1.96  # 95 %


class TooBroadError(ConfigError):
    """A subscription that would bring more than is allowed: how much, and how much is."""

    def __init__(self, estimate: "Estimate", bound: float) -> None:
        """Show the estimate back."""
        between = f"{estimate.low:,.0f} to {estimate.high:,.0f}"
        super().__init__(
            f"this would bring about {estimate.per_day:,.0f} posts a day ({between}), "
            f"and {bound:,.0f} are allowed: add a word, an author or a place to it"
        )
        self.estimate = estimate
        self.bound = bound


@dataclass(frozen=True)
class Estimate:
    """So many of a sample of recent posts match; the stream has `posts_per_day`."""

    matched: int
    sampled: int
    posts_per_day: float
    share: float | None = None
    """Of all posts, how many match; None: as of the sample, where each of it stands for as many."""
    witnesses: float | None = None
    """How many posts tell as much, if each stood for as many; None: so many as there are."""

    @property
    def is_known(self) -> bool:
        """Whether the sample is large enough to be taken for the stream."""
        return self._size >= _ENOUGH

    @property
    def per_day(self) -> float:
        """Matches to be expected in a day like those of the sample; 0 if there is no sample."""
        return self.posts_per_day * self._share

    @property
    def low(self) -> float:
        """With 95 % confidence it is not less (Wilson's interval, which holds also for few matches, or none)."""
        return self.posts_per_day * self._wilson(-1)

    @property
    def high(self) -> float:
        """Nor more."""
        return self.posts_per_day * self._wilson(1)

    @property
    def _size(self) -> float:
        return self.sampled if self.witnesses is None else self.witnesses

    @property
    def _share(self) -> float:
        if self.share is not None:
            return self.share
        return self.matched / self.sampled if self.sampled else 0.0

    def _wilson(self, side: int) -> float:
        if not self.sampled:
            return 0.0 if side < 0 else 1.0
        share, square = self._share, _Z * _Z / self._size
        middle = share + square / 2
        spread = sqrt(square * (share * (1 - share) + square / 4))
        return min(1.0, max(0.0, (middle + side * spread) / (1 + square)))


def refuse_too_broad(estimated: Estimate, bound: float) -> None:
    """Raise `TooBroadError` if more than `bound` matches a day are to be expected.

    The expectation decides, not the interval, and of what is not known nothing is expected: a small sample neither
    lets everything pass nor refuses on suspicion.
    """
    if estimated.is_known and estimated.per_day > bound:
        raise TooBroadError(estimated, bound)
