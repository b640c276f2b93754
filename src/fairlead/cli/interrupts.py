"""Ctrl-C outside of the event loop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def restore_sigint() -> None:
    """Restore the default handler of SIGINT if it is ignored, as in a process that a shell starts
    in the background: a SIGINT sent on purpose must still end it."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt blocking calls in this block. The handler of asyncio only cancels the
    task, and a blocking read would go on until there is input."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
