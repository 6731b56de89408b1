"""The first operator's key: somebody has to be able to let others in."""

import os
from pathlib import Path
from typing import Final

from sqlalchemy import select

from tidegate.deliver.api_keys import ApiKeys
from tidegate.deliver.database import Database
from tidegate.deliver.schema import API_KEYS
from tidegate.errors import ConfigError

OPERATOR: Final = "operator"
"""The name that operators' keys are issued to."""


def first_key(database: Database, keys: ApiKeys) -> str | None:
    """Issue an operator's key, which is to be shown once; None if one was issued before and is still valid."""
    query = select(API_KEYS.c.hash).where(API_KEYS.c.is_operator == 1).limit(1)
    with database.reading() as connection:
        if connection.execute(query).first() is not None:
            return None
    return keys.issue(OPERATOR, is_operator=True)


def kept_key(keys: ApiKeys, path: Path) -> bool:
    """Make sure that a file holds a valid operator's key, readable to its owner alone; say whether it was issued now.

    This is also the way back in when a key was lost: whoever can write such a file here can read the database anyway.
    """
    try:
        holder = keys.holder(path.read_text().strip()) if path.exists() else None
        if holder is not None and holder.is_operator:
            return False
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{path}: the operator's key cannot be kept here: {error.strerror}") from error
    with os.fdopen(handle, "w") as file:
        file.write(keys.issue(OPERATOR, is_operator=True) + "\n")
    return True
