"""Removes credentials from audit events."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

from fairlead.api.audit.fragments import is_plain
from fairlead.api.audit.policy import REQUEST
from fairlead.auth.authorization.requests import Target
from fairlead.base.errors import STATUS_HEAD, StatusError
from fairlead.wire.incoming.parser import UNRESERVED

# Resources whose bodies hold credentials: errors about an invalid body may quote it.
_HOLD_CREDENTIALS = (
    ("secrets", ""),
    ("serviceaccounts", "token"),
    ("tokenreviews", ""),
    ("certificatesigningrequests", ""),
)
_QUOTING = (400, 422)
_WITHHELD = "the message is left out: it may quote what was sent"
_CREDENTIALS = ("access_token", "id_token", "refresh_token", "token", "client_secret", "password")
_REDACTED = "REDACTED"


def redacted_uri(path: str, query: bytes) -> str:
    """The request URI, with the values of credential parameters redacted."""
    if is_plain(path) is None:
        path = quote(path, safe=UNRESERVED, errors="surrogateescape")
    if not query:
        return path
    parts = query.decode("latin-1").split("&")
    return f"{path}?{'&'.join(map(_redacted_parameter, parts))}"


def _redacted_parameter(part: str) -> str:
    name, separator, _ = part.partition("=")
    if separator and unquote(name).lower() in _CREDENTIALS:
        return f"{name}={_REDACTED}"
    return part


def redacted_status(error: StatusError, target: Target, level: int) -> dict[str, Any]:
    """An error as events show it, shorter than the response. Omits the message if it may quote
    credentials and the level excludes request bodies."""
    quotes = (
        level < REQUEST
        and error.code in _QUOTING
        and (target.resource_name, target.subresource) in _HOLD_CREDENTIALS
    )
    return status_of(error.status() if not quotes else _without_quotes(error))


def status_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Status that events include."""
    names = ("status", "message", "reason", "details", "code")
    return {"metadata": {}} | {name: answer[name] for name in names if name in answer}


def _without_quotes(error: StatusError) -> dict[str, Any]:
    details = error.details
    if details and "causes" in details:
        causes = [{n: c[n] for n in ("reason", "field") if n in c} for c in details["causes"]]
        details = {**details, "causes": causes}
    status = {**STATUS_HEAD, "status": "Failure", "message": _WITHHELD, "reason": error.reason}
    if details is not None:
        status["details"] = details
    return status | {"code": error.code}
