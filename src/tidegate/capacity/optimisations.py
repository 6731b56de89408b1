"""What the thesis adds to packing pairs as they come (MCSS, stage 2; §7.2.2). Light to import: options name them."""

from enum import StrEnum


class Optimisation(StrEnum):
    """Each by its letter in the thesis."""

    BY_TOPIC = "b"
    DEAR_FIRST = "c"
    MOST_FREE_FIRST = "d"
    BY_COST = "e"
