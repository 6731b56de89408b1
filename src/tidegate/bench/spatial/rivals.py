"""The indexes that meet: the paper's and ours."""

from collections.abc import Callable
from typing import Final

from tidegate.index.flat_grid import FlatGrid
from tidegate.index.grid_inverted import GridInverted
from tidegate.index.placed import PlacedIndex
from tidegate.route.places.lattice import SIDE, Bounds

GI2: Final = GridInverted.name
FLAT_GRID: Final = FlatGrid.name

INDEXES: Final[dict[str, Callable[[Bounds], PlacedIndex]]] = {
    GI2: lambda bounds: GridInverted(bounds, columns=SIDE, rows=SIDE),
    FLAT_GRID: lambda bounds: FlatGrid(),
}
"""By name: an empty one for a world of these bounds."""
