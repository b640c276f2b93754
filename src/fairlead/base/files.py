"""Files: data files of the package, stored beside its modules, and detection of changed files.

`importlib.resources` would work too, but imports archive modules, which slows the start.
"""

from __future__ import annotations

from pathlib import Path


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
