"""Status errors: the one shape in which every refusal reaches a client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.base.budget import OverBudget, OverSize
from fairlead.base.quotes import LONGEST, quote
from fairlead.base.records import dataclass

# How much a refusal tells. The reference has no such limits, but an answer must not grow with the
# square of the question.
MOST_CAUSES = 1000
MOST_CAUSE_BYTES = 256 * 1024  # of all causes together
LONGEST_CAUSE = LONGEST
LONGEST_FIELD = 4096
LONGEST_MESSAGE = 512 * 1024

# The reason that goes with a code where nothing more particular is to be said.
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

STATUS_HEAD: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}}


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for a refusal, at one field of the object."""

    reason: str
    message: str
    field: str = ""

    def as_dict(self) -> dict[str, str]:
        parts = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in parts.items() if value}


def clipped(text: str, limit: int) -> str:
    """A text, without its end if that goes over the limit."""
    return text if len(text) <= limit else text[:limit] + "..."


class StatusError(Exception):
    """An answer that is an error; `status()` is its body."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
        list_meta: dict[str, Any] | None = None,
    ) -> None:
        message = clipped(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after
        self.list_meta = list_meta

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {**STATUS_HEAD, "status": "Failure", "message": self.message}
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        if self.list_meta is not None:
            body["metadata"] = self.list_meta
        body["code"] = self.code
        return body


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """How an error names what it is about: group, resource (or kind) and object name."""

    group: str
    resource: str
    name: str = ""

    @property
    def qualified(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def named(self) -> str:
        return f"{self.qualified} {quote(self.name)}"

    def details(self, **more: Any) -> dict[str, Any]:
        parts = {"name": self.name, "group": self.group, "kind": self.resource, **more}
        return {key: value for key, value in parts.items() if value}


def success(ref: ResourceRef, uid: str) -> dict[str, Any]:
    """The Status that answers a finished deletion."""
    return {**STATUS_HEAD, "status": "Success", "details": ref.details(uid=uid)}


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> StatusError:
    return StatusError(401, "Unauthorized", message)


def forbidden(ref: ResourceRef, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    listed = [cause.as_dict() for cause in causes]
    message = f"{ref.named} is forbidden: {why}"
    if not ref.qualified:
        message = f"forbidden: {why}"
    elif not ref.name:
        message = f"{ref.qualified} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, details=ref.details(causes=listed))


def not_found(ref: ResourceRef) -> StatusError:
    return StatusError(404, "NotFound", f"{ref.named} not found", details=ref.details())


def no_such_path() -> StatusError:
    """A path inside a served group that leads to no resource."""
    return StatusError(
        404, "NotFound", "the server could not find the requested resource", details={}
    )


def method_not_allowed() -> StatusError:
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def verb_not_supported(ref: ResourceRef, verb: str) -> StatusError:
    return StatusError(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{ref.qualified}"',
        details=ref.details(),
    )


def not_acceptable(media_types: Iterable[str]) -> StatusError:
    listed = ", ".join(media_types)
    return StatusError(
        406, "NotAcceptable", f"only the following media types are accepted: {listed}"
    )


def already_exists(ref: ResourceRef) -> StatusError:
    return StatusError(409, "AlreadyExists", f"{ref.named} already exists", details=ref.details())


def conflict(ref: ResourceRef, why: str) -> StatusError:
    message = f"Operation cannot be fulfilled on {ref.named}: {why}"
    return StatusError(409, "Conflict", message, details=ref.details())


def modified(ref: ResourceRef) -> StatusError:
    """The resourceVersion a write was based on is no longer the current one."""
    return conflict(
        ref,
        "the object has been modified; please apply your changes to the latest version"
        " and try again",
    )


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def store_unavailable() -> StatusError:
    """What was asked for did not happen; it may be asked for again."""
    message = "the store cannot be written or read at the moment"
    return StatusError(503, "ServiceUnavailable", message, retry_after=1)


def outcome_unknown() -> StatusError:
    """What was asked for may have happened. Nothing says when to ask again: clients would do so
    by themselves, and some things must not happen twice."""
    message = "the store did not tell whether this was written: it may have been"
    return StatusError(503, "ServiceUnavailable", message)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def over_budget(error: OverBudget) -> StatusError:
    """A request that takes more time or memory than any may."""
    if isinstance(error, OverSize):
        return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {error}")
    return StatusError(422, "Invalid", f"the request {error}")


def unsupported_media_type(media_types: Iterable[str]) -> StatusError:
    listed = ", ".join(media_types)
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        + listed,
    )


def invalid(ref: ResourceRef, causes: Sequence[Cause]) -> StatusError:
    """422 with one cause a field."""
    return StatusError(
        422,
        "Invalid",
        f"{ref.named} is invalid: {listed(causes)}",
        details=ref.details(causes=[cause.as_dict() for cause in causes]),
    )


def listed(causes: Sequence[Cause]) -> str:
    """All causes in one text, each distinct one once."""
    texts = list(dict.fromkeys(f"{c.field}: {c.message}" if c.field else c.message for c in causes))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class TooManyCauses(StatusError):
    """Enough was found wrong with an object to stop looking. Whoever knows the object's name says
    so with `invalid`; nobody has to."""

    def __init__(self, causes: Any) -> None:
        found = invalid(ResourceRef("", ""), causes)
        super().__init__(found.code, found.reason, found.message, details=found.details)
        self.causes = causes


def too_many_requests(message: str, retry_after: int = 1) -> StatusError:
    return StatusError(
        429,
        "TooManyRequests",
        message,
        details={"retryAfterSeconds": retry_after},
        retry_after=retry_after,
    )


def too_large_resource_version(wanted: int, current: int) -> StatusError:
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={"causes": [cause.as_dict()], "retryAfterSeconds": 1},
        retry_after=1,
    )


def request_timeout() -> StatusError:
    """The server gave up on a request."""
    return StatusError(
        504,
        "Timeout",
        "Timeout: request did not complete within the allotted timeout",
        details={},
    )


def internal(message: str) -> StatusError:
    return StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )
