"""Returns unused memory to the operating system.

Most code of the libraries is needed at the start only, and the allocator may keep memory that a
burst of requests freed. Pages of files are shared and are read again when they are accessed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_FIRST_PAUSE, _PAUSE = 1.5, 600.0  # seconds; the last imports happen a second after the start
_DONT_NEED = 4  # MADV_DONTNEED of Linux
_READ_ONLY = ("r--p", "r-xp")
_MAPPINGS = Path("/proc/self/smaps")


class Mapping(NamedTuple):
    """A memory mapping of a file."""

    start: int
    size: int


async def trim_periodically() -> None:
    """Return library pages once, shortly after the start, and freed memory every ten minutes."""
    await asyncio.sleep(_FIRST_PAUSE)
    await asyncio.to_thread(give_back_libraries)
    while True:
        await asyncio.to_thread(give_back_freed)
        await asyncio.sleep(_PAUSE)


def give_back_freed() -> None:
    """Trim the allocator's heap; does nothing where libc has no malloc_trim."""
    import ctypes  # lazy: only needed here

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_libraries() -> None:
    """Drop the pages of libraries that only the start needed. Called once. Libraries are never
    unmapped, so the listed addresses cannot be reused by another mapping meanwhile."""
    import ctypes

    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for found in clean_mappings(_MAPPINGS.read_text()):
            libc.madvise(ctypes.c_void_p(found.start), ctypes.c_size_t(found.size), _DONT_NEED)


def clean_mappings(listing: str) -> Iterator[Mapping]:
    """Yield read-only mappings of libraries without modified pages, which can be dropped without
    loss. `listing` has the format of /proc/PID/smaps."""
    head: list[str] = []
    for line in listing.splitlines():
        name, *rest = line.split()
        if name == "Anonymous:":
            if rest[0] == "0" and _is_of_file(head):
                start, end = (int(number, 16) for number in head[0].split("-"))
                yield Mapping(start, end - start)
        elif not name.endswith(":"):
            head = [name, *rest]


def _is_of_file(head: list[str]) -> bool:
    """`head`: addresses, permissions, offset, device, inode, path."""
    return len(head) > 5 and head[1] in _READ_ONLY and ".so" in head[-1] and head[4] != "0"
