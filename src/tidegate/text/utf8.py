"""Texts that are no UTF-8. Spark and other writers let any bytes pass for a string; Python does not."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def is_utf8(texts: pa.Array) -> NDArray[np.bool_]:
    """Tell which texts are well formed; a null is."""
    if _is_sound(texts):
        return np.ones(len(texts), np.bool_)
    return np.array([value is None or _decodes(value) for value in texts.cast(pa.large_binary()).to_pylist()], np.bool_)


def mended(texts: pa.Array) -> pa.Array:
    """Return the texts with every byte replaced that belongs to no character."""
    if _is_sound(texts):
        return texts
    values = texts.cast(pa.large_binary()).to_pylist()
    return pa.array([None if value is None else value.decode(errors="replace") for value in values], texts.type)


def _is_sound(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
