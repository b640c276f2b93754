"""Converts unsuccessful answers to error messages that API clients know, and parses reviews."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from fairlead.base.budget import SizeLimitExceeded
from fairlead.codec.bodies import (
    MAX_VALUES,
    BodyError,
    check_values,
    not_an_object,
    parse_json,
    parse_yaml,
)
from fairlead.wire.outgoing.client import CallError, Reply

_MAX_SHOWN_BYTES = 2048
_SECONDS = re.compile("[0-9]{1,9}", re.ASCII)
WORDS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    415: "the server was not able to process the content type of the request",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be"
    " processing the request",
}


def seconds_to_wait(reply: Reply) -> int | None:
    """Return the Retry-After seconds of a 429 or 5xx answer, None if there are none."""
    if reply.status != 429 and reply.status < 500:
        return None
    return int(reply.retry_after) if _SECONDS.fullmatch(reply.retry_after) else None


def check_success(reply: Reply) -> None:
    """Raise CallError with the status code unless the answer is a success."""
    if not 200 <= reply.status <= 206:
        raise CallError(_said(reply), reply.status, retryable=reply.status >= 500)


def _said(reply: Reply) -> str:
    status = _status_message(reply)
    if status:
        return status
    if reply.status in WORDS:
        return WORDS[reply.status]
    text = "unknown"
    if not reply.type or reply.type.startswith("text/"):
        text = reply.content[:_MAX_SHOWN_BYTES].decode(errors="replace").strip()
    if reply.status == 403:
        return text
    if reply.status >= 500:
        shown = json.dumps(text, ensure_ascii=False)
        return f"an error on the server ({shown}) has prevented the request from succeeding"
    return (
        f"the server responded with the status code {reply.status} but did not return more"
        " information"
    )


def _status_message(reply: Reply) -> str:
    """Return the message of a Status in the answer; empty if there is none, or too many values."""
    try:
        check_values(reply.content)
        found = orjson.loads(reply.content)
    except (SizeLimitExceeded, orjson.JSONDecodeError):
        return ""
    if not isinstance(found, dict) or found.get("kind") != "Status":
        return ""
    message = found.get("message")
    return message[:_MAX_SHOWN_BYTES] if isinstance(message, str) else ""


# Parsing a webhook's review.

_VERSIONS = ("v1", "v1beta1")


def read_review(
    content: bytes, group: str, kind: str, version: str, most_values: int = MAX_VALUES
) -> dict[str, Any]:
    """Parse a webhook's answer as a review; one without kind and apiVersion is accepted. Raises
    CallError, also for an answer with more than `most_values` lists and objects."""
    try:
        check_values(content, most_values)
        value = orjson.loads(content)
    except SizeLimitExceeded as error:
        raise CallError(f"the answer has {error}") from None
    except orjson.JSONDecodeError:
        value = _read_slowly(content)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _unknown(not_an_object(value))
    if value.get("kind") == kind:
        for other in _VERSIONS:
            if other != version and value.get("apiVersion") == f"{group}/{other}":
                raise CallError(
                    f"converting ({other}.{kind}) to ({version}.{kind}): unknown conversion"
                )
    return value


def _read_slowly(content: bytes) -> Any:
    """Parse an answer that orjson rejects: as JSON for an error message, else as YAML."""
    if content.lstrip().startswith(b"{"):
        try:
            return parse_json(content)
        except BodyError as error:
            raise _unknown(str(error)) from None
    try:
        return parse_yaml(content)[0]
    except BodyError as error:
        raise CallError(str(error)) from None


def _unknown(why: str) -> CallError:
    return CallError(f"couldn't get version/kind; json parse error: {why}")
