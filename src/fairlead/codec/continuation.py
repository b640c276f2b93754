"""The continue tokens of paged lists. They are opaque to clients; the errors for malformed tokens
are the reference's."""

from __future__ import annotations

import base64
import posixpath
from typing import Any, NamedTuple

import orjson

from fairlead.codec import json_syntax
from fairlead.codec.types.mismatch import json_kind

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_TYPES = {"v": (str, "string"), "rv": (int, "int64"), "start": (str, "string")}


class ContinuationError(ValueError):
    """A continue token that is malformed."""


class Continuation(NamedTuple):
    """The position in a paged list: the snapshot's revision and the last key sent. A revision of -1
    continues in the newest state. `version` of the methods names the format of the token."""

    revision: int
    key: str

    def encode(self, version: str) -> str:
        raw = orjson.dumps({"v": version, "rv": self.revision, "start": self.key})
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str, version: str) -> Continuation:
        value = _parse(_decode(text))
        form = value.get("v") or ""
        if form != version:
            raise _invalid(f"server does not recognize this encoded version {form}")
        if not value.get("rv"):
            raise _invalid(f"incorrect encoded start resourceVersion (version {version})")
        start = value.get("start")
        if not start:
            raise _invalid(f"encoded start key empty (version {version})")
        path = start if start.startswith("/") else f"/{start}"
        if posixpath.normpath(path) != path:
            raise _invalid(start)
        return cls(value["rv"], start)


def _invalid(reason: str) -> ContinuationError:
    return ContinuationError(f"continue key is not valid: {reason}")


def _decode(text: str) -> bytes:
    clean = text.replace("\n", "").replace("\r", "")
    invalid_index = next(
        (index for index, letter in enumerate(clean) if letter not in _LETTERS), None
    )
    if invalid_index is None and len(clean) % 4 == 1:
        invalid_index = len(clean) - 1
    if invalid_index is not None:
        raise _invalid(f"illegal base64 data at input byte {invalid_index}")
    return base64.urlsafe_b64decode(clean + "=" * (-len(clean) % 4))


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise _invalid(json_syntax.describe_json_error(raw)) from None
    if value is None:
        return {}
    problem = f"json: cannot unmarshal {json_kind(value)} into Go"
    if not isinstance(value, dict):
        raise _invalid(f"{problem} value of type storage.continueToken")
    for name, (type_name, word) in _TYPES.items():
        item = value.get(name)
        if item is not None and item.__class__ is not type_name:
            shown = f"number {item}" if isinstance(item, float) else json_kind(item)
            target = f"struct field continueToken.{name} of type {word}"
            raise _invalid(f"json: cannot unmarshal {shown} into Go {target}")
    return value
