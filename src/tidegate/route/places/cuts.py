"""Cutting a sequence of things (terms, cells, leaves) into runs of even load."""

from typing import Any

import numpy as np

from tidegate.csr import Csr, Int32
from tidegate.kernels import njit
from tidegate.route.places.load import Floats, Price

_HALVINGS = 24  # of the interval in which the smallest highest load is sought


def even_runs(posts_of: Csr, stored_of: Csr, checks_of: Floats, parts: int, price: Price) -> Int32:
    """Return the part of each thing, rising: as many runs as `parts`, or as there are things if those are fewer.

    A thing is given by the posts and the conjunctions it brings, of which a run has each once, and by its checks. Runs
    are cut one after the other, each as large as the smallest possible highest load of what is left allows.
    """
    n_posts = int(posts_of.values.max(initial=-1)) + 1
    n_stored = int(stored_of.values.max(initial=-1)) + 1
    return _even_runs(posts_of, stored_of, checks_of, n_posts, n_stored, parts, price)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _even_runs(
    posts_of: Csr, stored_of: Csr, checks_of: Floats, n_posts: int, n_stored: int, parts: int, price: Price
) -> Int32:
    things_of = posts_of, stored_of, checks_of
    things = len(checks_of)
    part_of = np.empty(things, np.int32)
    # Whose run a post or a conjunction was counted in last; runs are numbered on and on.
    seen = np.full(n_posts, -1, np.int64), np.full(n_stored, -1, np.int64)
    run = 0
    start = 0
    for part in range(parts):
        left = parts - part
        end = things
        if left > 1 and start < things:
            high, run, _ = _filled(things_of, start, things, 1, np.inf, price, seen, run)
            low = 0.0
            for _ in range(_HALVINGS):
                if high - low <= 1e-3 * high:
                    break
                middle = (low + high) / 2
                highest, run, _ = _filled(things_of, start, things, left, middle, price, seen, run)
                if highest <= middle:
                    high = highest
                else:
                    low = middle
            _, run, end = _filled(things_of, start, things, left, high, price, seen, run)
            end = max(start + 1, min(end, things - left + 1))
        part_of[start:end] = part
        start = end
    return part_of


@njit(cache=True, nogil=True)
def _filled(things_of: Any, start: int, stop: int, parts: int, limit: float, price: Price, seen: Any, run: int) -> Any:
    """Fill runs up to the limit, all but the last. Return the highest load, the next run, and the first run's end."""
    posts_of, stored_of, checks_of = things_of
    highest = 0.0
    first_end = stop
    begun = 1
    posts, stored, checks = 0, 0, 0.0
    run += 1
    thing = start
    while thing < stop:
        new_posts, new_stored = 0, 0
        for k in range(posts_of.offsets[thing], posts_of.offsets[thing + 1]):
            new_posts += seen[0][posts_of.values[k]] != run
        for k in range(stored_of.offsets[thing], stored_of.offsets[thing + 1]):
            new_stored += seen[1][stored_of.values[k]] != run
        load = _load(price, posts + new_posts, stored + new_stored, checks + checks_of[thing])
        if load > limit and posts + stored > 0 and begun < parts:
            if begun == 1:
                first_end = thing
            begun += 1
            run += 1
            posts, stored, checks = 0, 0, 0.0
            continue
        posts += new_posts
        stored += new_stored
        checks += checks_of[thing]
        highest = max(highest, load)
        for k in range(posts_of.offsets[thing], posts_of.offsets[thing + 1]):
            seen[0][posts_of.values[k]] = run
        for k in range(stored_of.offsets[thing], stored_of.offsets[thing + 1]):
            seen[1][stored_of.values[k]] = run
        thing += 1
    return highest, run, first_end


@njit(cache=True, nogil=True)
def _load(price: Price, posts: int, stored: int, checks: float) -> float:
    return (
        price.per_pair * posts * stored + price.per_post * posts + price.per_stored * stored + price.per_check * checks
    )
