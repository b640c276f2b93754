"""A connection whose protocol has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class HandedOver(asyncio.Protocol):
    """Passes everything on to the successor. `on_full` is told whether the peer has too much to
    read, `on_lost` of the end, after the successor."""

    def __init__(
        self,
        successor: asyncio.Protocol,
        on_full: Callable[[bool], None],
        on_lost: Callable[[Exception | None], None],
    ) -> None:
        self._successor = successor
        self._on_full = on_full
        self._on_lost = on_lost

    def data_received(self, data: bytes) -> None:
        self._successor.data_received(data)

    def eof_received(self) -> bool | None:
        return self._successor.eof_received()

    def pause_writing(self) -> None:
        self._successor.pause_writing()
        self._on_full(True)

    def resume_writing(self) -> None:
        self._successor.resume_writing()
        self._on_full(False)

    def connection_lost(self, error: Exception | None) -> None:
        self._successor.connection_lost(error)
        self._on_lost(error)
