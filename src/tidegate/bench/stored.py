"""Posts from a file, for the benchmarks that can run on other data than generated."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ConfigError


def check_stored(path: Path) -> None:
    """Refuse a file that `stored_texts` could not read, without reading it all."""
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file of posts")
    try:
        names = pq.read_schema(path).names
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"no posts can be read from {path}: {error}") from error
    if "text" not in names:
        raise ConfigError(f"{path}: posts need a column 'text'; its columns are {', '.join(names)}")


def stored_texts(path: Path) -> pa.Array:
    """Return the column `text` of a Parquet file as one array."""
    try:
        column = pq.read_table(path, columns=["text"]).column("text")
        texts = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in column.chunks])
    except (OSError, KeyError, pa.ArrowException) as error:
        raise ConfigError(f"no posts can be read from {path}, which needs a column 'text': {error}") from error
    if len(texts) == 0:
        raise ConfigError(f"{path} holds no posts")
    return texts
