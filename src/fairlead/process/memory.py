"""Memory that the process holds and does not need goes back to the system.

Most of the code of the libraries is needed at the start only, and what a burst of requests freed
may stay with the allocator. Pages of files are shared and come back when somebody touches them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_FIRST_PAUSE, _PAUSE = 1.5, 600.0  # seconds; the last imports come one after the start
_DONT_NEED = 4  # MADV_DONTNEED of Linux
_READ_ONLY = ("r--p", "r-xp")
_MAPPINGS = Path("/proc/self/smaps")


class Mapping(NamedTuple):
    """A part of the memory in which a file is seen."""

    start: int
    size: int


async def keep_giving_back() -> None:
    """A while after the start, and what was freed now and then."""
    await asyncio.sleep(_FIRST_PAUSE)
    await asyncio.to_thread(give_back_libraries)
    while True:
        await asyncio.to_thread(give_back_freed)
        await asyncio.sleep(_PAUSE)


def give_back_freed() -> None:
    """Give back what the allocator holds; does nothing where the system has no way to do it."""
    import ctypes  # only here

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_libraries() -> None:
    """Give back code that only the start needed, once: libraries stay where they are from then
    on, so that nothing else can have come to lie there."""
    import ctypes

    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for found in clean_mappings(_MAPPINGS.read_text()):
            libc.madvise(ctypes.c_void_p(found.start), ctypes.c_size_t(found.size), _DONT_NEED)


def clean_mappings(listing: str) -> Iterator[Mapping]:
    """The mappings of files that hold nothing but what is in the file and cannot be written to:
    nothing is lost with their pages. `listing` is a text as of /proc/PID/smaps."""
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
    """`head`: addresses, what may be done, offset, device, inode, path."""
    return len(head) > 5 and head[1] in _READ_ONLY and ".so" in head[-1] and head[4] != "0"
