"""Bodies that come packed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from fairlead.client.transport.errors import Unreachable

_PART = 1024 * 1024


class Unpacking:
    """A gzip body, unpacked as its pieces come, never much more at a time than can be held."""

    def __init__(self) -> None:
        self._member = _member()
        self._begun = False

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Raises Unreachable."""
        while piece:
            if self._member.eof:  # another one may follow
                self._member = _member()
            self._begun = True
            try:
                part = self._member.decompress(piece, _PART)
            except zlib.error as error:
                raise Unreachable(f"gzip: {error}", sent=True) from None
            if part:
                yield part
            piece = self._member.unconsumed_tail or self._member.unused_data
            if not piece and len(part) == _PART:
                yield from self._held_back()

    def _held_back(self) -> Iterator[bytes]:
        """What is inside the unpacker although all input was taken."""
        while part := self._member.decompress(b"", _PART):
            yield part

    def finish(self) -> None:
        """Raises Unreachable if the end is missing; an empty body needs none."""
        if self._begun and not self._member.eof:
            raise Unreachable("gzip: unexpected EOF", sent=True)


def _member() -> zlib._Decompress:
    return zlib.decompressobj(16 + zlib.MAX_WBITS)
