"""Turns exceptions that end a server into one line for its operator."""

from __future__ import annotations

import sqlite3

from fairlead.base.errors import StatusError
from fairlead.storage.backend import StorageError

_TRACEBACK = "run it with -v to see where"


def explain(error: BaseException) -> str:
    """One line for an exception without a message of its own for operators."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, StorageError):
        return str(error)
    if isinstance(error, sqlite3.Error):
        return f"the data directory cannot be used: {error}"
    if isinstance(error, StatusError):
        return f"the server refuses its own objects: {error}"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    text = str(error) or "no message"
    return f"stopped by an unexpected error: {type(error).__name__}: {text}; {_TRACEBACK}"
