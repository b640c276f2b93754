"""What can go wrong before there is an answer."""

from __future__ import annotations


class Unreachable(Exception):
    """No answer came. `sent` says whether the server may have seen the request."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
