"""Runs in a server's process: on SIGUSR1 it writes the garbage collector's findings since last time
into the file that FAIRLEAD_GARBAGE names."""

import collections
import gc
import os
import signal
from pathlib import Path

PRELUDE = f"exec(open({str(Path(__file__))!r}).read())" if "__file__" in globals() else ""


def _report(*_: object) -> None:
    gc.collect()
    counter = collections.Counter(type(item).__name__ for item in gc.garbage)
    gc.set_debug(0)
    gc.garbage.clear()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    path = Path(os.environ["FAIRLEAD_GARBAGE"])
    fresh = path.with_suffix(".new")
    fresh.write_text(f"{sum(counter.values())} {counter.most_common(12)}")
    fresh.replace(path)


if not PRELUDE:
    gc.set_debug(gc.DEBUG_SAVEALL)
    signal.signal(signal.SIGUSR1, _report)
