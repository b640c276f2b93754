"""The wall clock of one server, set forward and back by libfaketime; the monotonic one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.process import ServerProcess

_LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
needs_faketime = pytest.mark.skipif(
    not _LIBRARIES, reason="there is no libfaketime (Debian: faketime)"
)


class SetClock:
    """The clock of a server that is started afterwards."""

    def __init__(self, server: ServerProcess) -> None:
        self._offset = server.directory / "clock-offset"
        self.set(0)
        server.environment |= {
            "LD_PRELOAD": str(_LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds: int) -> None:
        """Set the clock so many seconds before or after the machine's."""
        written = self._offset.with_suffix(".new")
        written.write_text(f"{seconds:+d}\n")
        written.replace(self._offset)
