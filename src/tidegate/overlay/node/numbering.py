"""Numbers for things that come and go, as small as can be: those of what is forgotten are given again."""

from collections.abc import Container


class Numbering:
    """Numbers keys from a first one on; a key keeps its number until it is released."""

    def __init__(self, first: int = 0) -> None:
        """Nothing is numbered yet."""
        self._numbers: dict[int, int] = {}
        self._free: list[int] = []
        self.end = first
        """No number is as high as `end`."""

    def __len__(self) -> int:
        """How many have a number."""
        return len(self._numbers)

    def get(self, key: int) -> int | None:
        """Return the number of a key, if it has one."""
        return self._numbers.get(key)

    def of(self, key: int) -> int:
        """Return the number of a key; it has one from now on."""
        number = self._numbers.get(key)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number, self.end = self.end, self.end + 1
            self._numbers[key] = number
        return number

    def keep(self, numbers: Container[int]) -> list[int]:
        """Release all but these; return the numbers that were released.

        >>> numbering = Numbering(1)
        >>> [numbering.of(key) for key in (50, 60, 70)], numbering.keep({2}), numbering.of(80), numbering.get(50)
        ([1, 2, 3], [1, 3], 3, None)
        """
        released = [number for number in self._numbers.values() if number not in numbers]
        self._numbers = {key: number for key, number in self._numbers.items() if number in numbers}
        self._free += released
        return released
