"""What a server refuses, as exceptions by the reason of its Status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from fairlead.base.errors import REASONS


class ApiError(Exception):
    """An answer that is an error. `status` is the Status object as it came, or one made for an
    answer that was none."""

    def __init__(self, status: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code = _code(status)
        self.reason = str(status.get("reason") or "")
        self.message = str(status.get("message") or "")
        details = status.get("details")
        self.details: Mapping[str, Any] = details if isinstance(details, dict) else {}
        self.retry_after = retry_after
        super().__init__(self.message)

    @property
    def causes(self) -> list[dict[str, str]]:
        found = self.details.get("causes")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _code(status: Mapping[str, Any]) -> int:
    """A Status need not have been made by a server that knows what it does."""
    code = status.get("code")
    return code if isinstance(code, int) else 0


class BadRequest(ApiError):
    pass


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NotFound(ApiError):
    pass


class MethodNotAllowed(ApiError):
    pass


class AlreadyExists(ApiError):
    pass


class Conflict(ApiError):
    """The object has changed, or an apply would take fields from others."""


class Expired(ApiError):
    """A resource version or a continuation that is too old: list again."""


class Invalid(ApiError):
    """The object breaks rules of its kind; `causes` say which."""


class TooManyRequests(ApiError):
    pass


class Unavailable(ApiError):
    """The server cannot answer now."""


class TimedOut(ApiError):
    pass


_BY_REASON: dict[str, type[ApiError]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Expired": Expired,
    "Gone": Expired,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "ServiceUnavailable": Unavailable,
    "ServerTimeout": TimedOut,
    "Timeout": TimedOut,
}
_BY_CODE = {
    code: (reason, _BY_REASON[reason]) for code, reason in REASONS.items() if reason in _BY_REASON
}
_MOST_SHOWN = 2048


def error_of_status(status: Mapping[str, Any], retry_after: float | None = None) -> ApiError:
    """The exception for a Status, which may also come as an event of a watch."""
    found = _BY_REASON.get(str(status.get("reason") or ""))
    if found is None:
        found = _BY_CODE.get(_code(status), ("", ApiError))[1]
    return found(status, retry_after)


def error_of_answer(code: int, content: bytes, retry_after: float | None = None) -> ApiError:
    """The exception for an answer, whatever its body is."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return error_of_status({"code": code, **status}, retry_after)
    from fairlead.wire.outgoing.answers import WORDS  # few need it, and it brings much along

    shown = content[:_MOST_SHOWN].decode(errors="replace").strip()
    message = WORDS.get(code) or shown or f"the server answered {code}"
    reason = _BY_CODE.get(code, ("", ApiError))[0]
    return error_of_status({"code": code, "reason": reason, "message": message}, retry_after)
