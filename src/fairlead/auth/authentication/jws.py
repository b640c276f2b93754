"""JSON Web Signatures, by PyJWT. A lazy module: PyJWT imports an HTTP client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jwt import PyJWS
from jwt.exceptions import PyJWTError

_LIBRARY = PyJWS()


def signed(payload: bytes, key: Any, algorithm: str, key_id: str) -> str:
    return _LIBRARY.encode(payload, key, algorithm=algorithm, headers={"kid": key_id, "typ": None})


def verified_payload(token: str, key: Any, algorithms: Sequence[str]) -> bytes:
    """The payload of a token that the key has signed; raises ValueError."""
    try:
        payload: bytes = _LIBRARY.decode_complete(token, key, algorithms=list(algorithms))[
            "payload"
        ]
    except (PyJWTError, TypeError) as error:
        raise ValueError(str(error)) from None
    return payload
