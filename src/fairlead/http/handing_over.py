"""A connection whose protocol has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class HandedOver(asyncio.Protocol):
    """Passes everything on to the successor; `on_lost` is told of the end after it."""

    def __init__(
        self, successor: asyncio.Protocol, on_lost: Callable[[Exception | None], None]
    ) -> None:
        self._successor = successor
        self._on_lost = on_lost

    def data_received(self, data: bytes) -> None:
        self._successor.data_received(data)

    def eof_received(self) -> bool | None:
        return self._successor.eof_received()

    def pause_writing(self) -> None:
        self._successor.pause_writing()

    def resume_writing(self) -> None:
        self._successor.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._successor.connection_lost(error)
        self._on_lost(error)
