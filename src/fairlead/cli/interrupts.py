"""Ctrl-C where the loop does not see it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def heed_interrupts() -> None:
    """Have SIGINT end this process also where a shell that started it in the background has the
    signal ignored: whoever sends it means it."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """Where a command waits for something that is not the loop's, Ctrl-C ends that too. The loop
    would only take note of it, and go on when there is something to read."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
