"""Transport errors."""

from __future__ import annotations


class Unreachable(Exception):
    """No response was received. `sent`: the server may have seen the request."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
