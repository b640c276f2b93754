"""Error messages of client commands, worded as in kubectl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.base.terminal import printable
from fairlead.client.access.model import CredentialsError, InvalidConfiguration
from fairlead.client.errors import ApiError, NotThisApi, Unreachable


def error_text(error: Exception) -> str:
    """The message for a client error, with control characters escaped for terminals."""
    return printable(_error_text(error))


def _error_text(error: Exception) -> str:
    if isinstance(error, ApiError):
        return _refused(error)
    if isinstance(error, NotThisApi):
        return f"error: no server of this API answers there: is the address right?\n{error}"
    if isinstance(error, Unreachable):
        return _unreached(str(error))
    if isinstance(error, InvalidConfiguration):
        return _invalid_configuration(error.problems)
    if isinstance(error, CredentialsError):
        return f"error: no connection to the server: {error}"
    return f"error: {error}"


def _refused(error: ApiError) -> str:
    if error.reason == "Unauthorized":
        return (
            f"error: the server does not accept your credentials ({error.message}):"
            " see `fairlead config view`"
        )
    if error.reason == "Invalid" and error.details:
        return _invalid(error.details, error.causes)
    message = error.message or "it says nothing more"
    if error.reason:
        return f"Error from server ({error.reason}): {message}"
    return f"Error from server: {message}"


def _invalid(details: Mapping[str, Any], causes: list[dict[str, str]]) -> str:
    message = "The request is invalid"
    if details.get("kind") or details.get("name"):
        message = f'The {details.get("kind", "")} "{details.get("name", "")}" is invalid'
    lines = list(dict.fromkeys(_cause(cause) for cause in causes))
    if len(lines) == 1:
        return f"{message}: {lines[0]}"
    listed = "".join(f"\n* {line}" for line in lines)
    return f"{message}: {listed}" if lines else message


def _cause(cause: Mapping[str, str]) -> str:
    field, message = cause.get("field", ""), cause.get("message", "")
    return f"{field}: {message}" if field else message


def _invalid_configuration(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return f"Error in configuration: {problems[0]}"
    return "\n".join(("Error in configuration: ", *(f"* {problem}" for problem in problems)))


def _unreached(text: str) -> str:
    if text.endswith("connection refused"):
        address = text.rpartition("dial tcp ")[2].partition(": connect")[0]
        return (
            f"error: nothing listens on {address}: is the server running, and is the address right?"
        )
    why = text.rpartition('": ')[2]  # drop the request in front
    return f"error: no connection to the server: {why}"
