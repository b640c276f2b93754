"""Lets the page in: the code of a link, once, and then tokens, one for each context that is shown.

A token is good for nothing but this process, ends with it, and says which context is meant. The
credentials of the contexts never leave the process.
"""

from __future__ import annotations

import secrets
from hashlib import sha256

_BYTES = 32
MAX_TOKENS = 256


class Doors:
    def __init__(self) -> None:
        self._code = b""
        self._contexts: dict[bytes, str] = {}  # by hash of the token, the newest last

    def new_code(self) -> str:
        """Return the code for the next link; that of an earlier link is good no more."""
        code = secrets.token_urlsafe(_BYTES)
        self._code = _hash(code)
        return code

    def use(self, code: str) -> bool:
        """Whether this is the code of the link, which is used up by that."""
        is_right = bool(self._code) and secrets.compare_digest(_hash(code), self._code)
        if is_right:
            self._code = b""
        return is_right

    def new_token(self, context: str) -> str:
        token = secrets.token_urlsafe(_BYTES)
        self._contexts[_hash(token)] = context
        while len(self._contexts) > MAX_TOKENS:
            del self._contexts[next(iter(self._contexts))]
        return token

    def context_of(self, token: str) -> str | None:
        """The context that a token is for, None if it is not one of ours."""
        return self._contexts.get(_hash(token))

    def end(self, token: str) -> None:
        self._contexts.pop(_hash(token), None)


def _hash(text: str) -> bytes:
    """Comparing hashes tells nothing about texts by the time it takes."""
    return sha256(text.encode()).digest()
