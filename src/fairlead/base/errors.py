"""Status errors: the one format in which every refused request is answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairlead.base.meter import OverBudget, SizeLimitExceeded
from fairlead.base.quotes import MAX_QUOTED_LENGTH, quote

# Limits of an error's size. The reference has none, but the size of an error must not grow with the
# square of the size of the request.
MAX_CAUSES = 1000
MAX_CAUSE_BYTES = 256 * 1024  # of all causes together
MAX_CAUSE_LENGTH = MAX_QUOTED_LENGTH
MAX_FIELD_LENGTH = 4096
MAX_MESSAGE_LENGTH = 512 * 1024

STATUS_HEAD: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}}


class Cause(NamedTuple):
    """One error of an object, at one field of it."""

    reason: str
    message: str
    field: str = ""

    def as_dict(self) -> dict[str, str]:
        parts = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in parts.items() if value}


def clipped(text: str, limit: int) -> str:
    """Cut a text off at the limit and mark the cut with dots."""
    return text if len(text) <= limit else text[:limit] + "..."


class StatusError(Exception):
    """An error response; `status()` is its body."""

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
        message = clipped(message, MAX_MESSAGE_LENGTH)
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


class ResourceRef(NamedTuple):
    """Names the subject of an error: group, resource (or kind) and object name."""

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
    """Return the Status that answers a finished deletion."""
    return {**STATUS_HEAD, "status": "Success", "details": ref.details(uid=uid)}


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> StatusError:
    return StatusError(401, "Unauthorized", message)


def forbidden(ref: ResourceRef, reason: str, causes: Sequence[Cause] = ()) -> StatusError:
    listed = [cause.as_dict() for cause in causes]
    message = f"{ref.named} is forbidden: {reason}"
    if not ref.qualified:
        message = f"forbidden: {reason}"
    elif not ref.name:
        message = f"{ref.qualified} is forbidden: {reason}"
    return StatusError(403, "Forbidden", message, details=ref.details(causes=listed))


def not_found(ref: ResourceRef) -> StatusError:
    return StatusError(404, "NotFound", f"{ref.named} not found", details=ref.details())


def no_such_path() -> StatusError:
    """404 for a path inside a served group that matches no resource."""
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


def conflict(ref: ResourceRef, reason: str) -> StatusError:
    message = f"Operation cannot be fulfilled on {ref.named}: {reason}"
    return StatusError(409, "Conflict", message, details=ref.details())


def modified(ref: ResourceRef) -> StatusError:
    """409: the resourceVersion of the write is outdated."""
    return conflict(
        ref,
        "the object has been modified; please apply your changes to the latest version"
        " and try again",
    )


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def store_unavailable(store: str = "the store") -> StatusError:
    """503: the request had no effect, so the client may retry it."""
    message = f"{store} cannot be written or read at the moment"
    return StatusError(503, "ServiceUnavailable", message, retry_after=1)


def outcome_unknown() -> StatusError:
    """503 for a write that may have been committed. Without Retry-After: clients would retry it
    automatically, and some writes must not happen twice."""
    message = "the store did not tell whether this was written: it may have been"
    return StatusError(503, "ServiceUnavailable", message)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def over_budget(error: OverBudget) -> StatusError:
    """Convert the error of a request that exceeds its time or memory limits."""
    if isinstance(error, SizeLimitExceeded):
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
    """422 with one cause per field."""
    return StatusError(
        422,
        "Invalid",
        f"{ref.named} is invalid: {listed(causes)}",
        details=ref.details(causes=[cause.as_dict() for cause in causes]),
    )


def listed(causes: Sequence[Cause]) -> str:
    """Join the distinct causes to one text."""
    texts = list(dict.fromkeys(f"{c.field}: {c.message}" if c.field else c.message for c in causes))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class TooManyCauses(StatusError):
    """Validation stopped because it found too many errors. Code that knows the object's name
    catches it and raises `invalid(ref, error.causes)` instead; uncaught, it is a valid answer
    without the name."""

    def __init__(self, causes: Any) -> None:
        error = invalid(ResourceRef("", ""), causes)
        super().__init__(error.code, error.reason, error.message, details=error.details)
        self.causes = causes


def too_many_requests(message: str, retry_after: int = 1) -> StatusError:
    return StatusError(
        429,
        "TooManyRequests",
        message,
        details={"retryAfterSeconds": retry_after},
        retry_after=retry_after,
    )


def too_large_resource_version(
    requested: int, current: int, retry_after: int | None = 1
) -> StatusError:
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    details: dict[str, Any] = {"causes": [cause.as_dict()]}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    return StatusError(504, "Timeout", message, details=details, retry_after=retry_after)


def request_timeout() -> StatusError:
    """504: the request exceeded its deadline."""
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
