"""Files: data files of the package, which lie beside its modules; detection of changed files; files
that a running server reads again.

`importlib.resources` would work too, but imports archive modules, which slows the start.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple


def file_beside(module: str, name: str) -> Path:
    """Return the path of a file in the directory of a module, given the module's `__file__`."""
    return Path(module).with_name(name)


def text_beside(module: str, name: str) -> str:
    return file_beside(module, name).read_text("utf-8")


def stamp(path: Path) -> object:
    """Return a value that changes when the file does; None if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class NotReloaded(Exception):
    """The earlier content of the file stays in use; the text says why."""


class Reloadable(NamedTuple):
    """A part of the configuration that is read from files. `read_again` returns whether it changed;
    it raises NotReloaded."""

    name: str  # the flag that names the file, or a description
    read_again: Callable[[], Awaitable[bool]]
