"""Exceptions for requests without a response, and for error responses by the reason of their
Status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from fairlead.base.reasons import REASONS
from fairlead.wire.outgoing.response import WORDS


class Unreachable(Exception):
    """No response was received. `sent`: the server may have seen the request."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class NotThisApi(Unreachable):
    """A successful response whose body no server of this API sends."""

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=True)


class ApiError(Exception):
    """An error response. `status` is the Status object in its body, or one built from the status
    code."""

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
        causes = self.details.get("causes")
        return (
            [cause for cause in causes if isinstance(cause, dict)]
            if isinstance(causes, list)
            else []
        )


def _code(status: Mapping[str, Any]) -> int:
    """The code; 0 if invalid, since the Status may come from any server."""
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
    """The object has changed, or an apply would take fields from other managers."""


class Expired(ApiError):
    """The resource version or continue token is too old: list again."""


class Invalid(ApiError):
    """The object violates rules of its kind; `causes` lists them."""


class TooManyRequests(ApiError):
    pass


class Unavailable(ApiError):
    """The server is temporarily unavailable."""


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
_MAX_SHOWN = 2048


def error_of_status(status: Mapping[str, Any], retry_after: float | None = None) -> ApiError:
    """The exception for a Status, from a response or from a watch event."""
    error_type = _BY_REASON.get(str(status.get("reason") or ""))
    if error_type is None:
        error_type = _BY_CODE.get(_code(status), ("", ApiError))[1]
    return error_type(status, retry_after)


def error_of_answer(code: int, content: bytes, retry_after: float | None = None) -> ApiError:
    """The exception for an error response with any body."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return error_of_status({"code": code, **status}, retry_after)
    text = content[:_MAX_SHOWN].decode(errors="replace").strip()
    message = WORDS.get(code) or text or f"the server answered {code}"
    reason = _BY_CODE.get(code, ("", ApiError))[0]
    return error_of_status({"code": code, "reason": reason, "message": message}, retry_after)
