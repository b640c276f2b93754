"""Tables and other files of the package, which lie beside its modules.

`importlib.resources` finds them too, but loads what unpacks archives with it, which no start needs.
"""

from __future__ import annotations

from pathlib import Path


def file_beside(module: str, name: str) -> Path:
    """A file in the directory of a module, which says where it is by its `__file__`."""
    return Path(module).with_name(name)


def text_beside(module: str, name: str) -> str:
    return file_beside(module, name).read_text("utf-8")


# Telling that a file was changed or replaced, without reading it.


def stamp(path: Path) -> object:
    """Equal as long as the file is the same; None if it cannot be looked at."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
