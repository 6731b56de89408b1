"""How large a run is."""

from typing import Final, NamedTuple

from tidegate.bench.report import Scale


class Sizes(NamedTuple):
    """Of both workloads, the traces being 1."""

    spotify: float
    twitter: float


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(0.1, 0.01),
    "paper": Sizes(1.0, 0.1),
    "max": Sizes(1.0, 1.0),
}
