"""Values of etcd that cannot be read: a server leaves them out, a copy must not."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.storage.etcd.codec import Codec


class NoticingCodec:
    """Another codec, and who is told of each value that it cannot read."""

    def __init__(self, codec: Codec, unread: Callable[[str], None]) -> None:
        self.path = codec.path
        self.place = codec.place
        self.encode = codec.encode
        self.is_stale = codec.is_stale
        self._codec = codec
        self._unread = unread

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        try:
            return self._codec.decode(resource, key, raw)
        except Exception as error:
            told = str(error)
            self._unread(told if key in told else f"{resource} {key}: {told}")
            raise ValueError(told) from None  # whatever it was, the others are looked at as well
