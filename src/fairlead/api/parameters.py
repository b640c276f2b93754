"""Parses and validates query parameters and option bodies as the reference does."""

from __future__ import annotations

from typing import Any, Final

from fairlead.api.dialect_hint import with_hint
from fairlead.api.negotiation import JSON, YAML, declared_type, media_types
from fairlead.api.request import Query, Request
from fairlead.api.routing import is_long_running
from fairlead.base.caches import memoized
from fairlead.base.dialect import Dialect
from fairlead.base.errors import (
    Cause,
    ResourceRef,
    StatusError,
    bad_request,
    invalid,
    unsupported_media_type,
)
from fairlead.codec.bodies import BodyError, parse_json, parse_yaml
from fairlead.codec.protobuf import ProtobufError, content_type, envelope, from_message
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.codec.types.mismatch import DecodeError
from fairlead.operations.api import Api
from fairlead.operations.options import (
    DeleteOptions,
    ListOptions,
    WriteOptions,
    check_dry_run,
    check_propagation,
)
from fairlead.operations.selectors import select
from fairlead.resources.causes import Causes, new_causes, quote
from fairlead.resources.metadata import MAX_MANAGER_BYTES, check_manager
from fairlead.resources.registry import Resource
from fairlead.resources.rules import bounded_int
from fairlead.storage.selection import EVERYTHING, Selection

# The file of the reference that names the types of options, as its messages show it.
_SCHEME: Final = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_VALIDATION: Final[tuple[str, ...]] = ("Ignore", "Warn", "Strict")


def integer(request: Request, name: str) -> int | None:
    """The integer value of a parameter, None if absent; 400 if malformed."""
    values = request.query.get(name)
    if not values:
        return None
    text = values[0]
    try:
        return _strict_int(text)
    except ValueError as error:
        raise bad_request(
            f"strconv.ParseInt: parsing {text!r}: {error}".replace("'", '"')
        ) from None


def _strict_int(text: str) -> int:
    body = text[1:] if text[:1] in "+-" else text
    if not body.isascii() or not body.isdigit():
        raise ValueError("invalid syntax")
    value = bounded_int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError("value out of range")
    return value


def timeout_of(request: Request) -> float:
    """The `timeout` parameter in seconds; 0 or less means the server's default. 400 unless it is a
    duration such as `30s`."""
    text = request.parameter("timeout")
    if not text:
        return 0
    try:
        return parse_duration(text)
    except DurationError as error:
        message = f"invalid timeout specified in the request URL - {error}"
        raise bad_request(message) from None


def flag(request: Request, name: str) -> bool:
    """Whether a boolean parameter is set to anything but `0` or `false`."""
    values = request.query.get(name, [])
    return bool(values) and values[0].lower() not in ("0", "false")


def write_options(api: Api, request: Request, kind: str, *, apply: bool = False) -> WriteOptions:
    """Parse the options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    query = request.query
    if not query and not apply:
        return WriteOptions(False, default_manager(request), "Warn")
    causes = new_causes(api.gates)
    manager = request.parameter("fieldManager")
    if kind == "PatchOptions":
        _check_patch(request, manager, apply, causes)
    check_manager(manager, "fieldManager", causes)
    dry_run = _dry_run(api.dialect, query, causes)
    named_validation = request.parameter("fieldValidation")
    validation = named_validation or "Warn"
    if validation not in _VALIDATION:
        causes.unsupported("fieldValidation", validation, ("", *sorted(_VALIDATION)))
    _raise_options(api.dialect, kind, causes)
    return WriteOptions(
        dry_run,
        manager or default_manager(request),
        validation,
        flag(request, "force"),
        manager,
        named_validation,
    )


def default_manager(request: Request) -> str:
    return _manager_of(request.user_agent)


@memoized(longest=512)
def _manager_of(user_agent: str) -> str:
    """The field manager of a user agent: the part before the slash, printable characters only."""
    agent = user_agent.partition("/")[0] or "unknown"
    printable = "".join(letter for letter in agent if letter.isprintable())
    return printable.encode()[:MAX_MANAGER_BYTES].decode(errors="ignore")


def _check_patch(request: Request, manager: str, apply: bool, causes: Causes) -> None:
    if apply and not manager:
        causes.required("fieldManager", "is required for apply patch")
    if not apply and "force" in request.query:
        causes.forbidden("force", "may not be specified for non-apply patch")


def _dry_run(dialect: Dialect, query: Query, causes: Causes) -> bool:
    values = query.get("dryRun")
    if not values:
        return False
    if dialect.bare_dry_run_writes and values == [""]:
        return False
    check_dry_run(values, causes)
    return True


def _raise_options(dialect: Dialect, kind: str, causes: list[Cause]) -> None:
    if causes:
        raise invalid(ResourceRef(dialect.meta_group, kind), causes)


def delete_options(api: Api, request: Request, raw: bytes) -> DeleteOptions:
    """Parse the options from the body if there is one, else from the query; the two are never
    merged."""
    dialect, causes = api.dialect, new_causes(api.gates)
    if raw:
        value = _delete_body(api, request, raw)
        dry_run = bool(value.get("dryRun"))
        check_dry_run(value.get("dryRun") or [], causes)
    else:
        dry_run = _dry_run(dialect, request.query, causes)
        value = _delete_query(dialect, request)
    check_propagation(value, causes)
    _raise_options(dialect, "DeleteOptions", causes)
    propagation = value.get("propagationPolicy")
    orphan = value.get("orphanDependents")
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    conditions = value.get("preconditions") or {}
    return DeleteOptions(
        dry_run,
        value.get("gracePeriodSeconds"),
        propagation or "",
        conditions.get("uid", ""),
        conditions.get("resourceVersion", ""),
        cascades=orphan is False,
    )


def _delete_query(dialect: Dialect, request: Request) -> dict[str, Any]:
    value: dict[str, Any] = {}
    grace = integer(request, "gracePeriodSeconds")
    if grace is not None:
        value["gracePeriodSeconds"] = grace
    if "propagationPolicy" in request.query:
        value["propagationPolicy"] = request.parameter("propagationPolicy")
    if "orphanDependents" in request.query:
        value["orphanDependents"] = flag(request, "orphanDependents")
    conditions = value["preconditions"] = {"uid": request.parameter("uid")}
    is_collection = request.target.verb == "deletecollection"
    if not (is_collection and dialect.deletecollection_lists_version):
        conditions["resourceVersion"] = request.parameter("resourceVersion")
    return value


def _delete_body(api: Api, request: Request, raw: bytes) -> dict[str, Any]:
    dialect, struct = api.dialect, api.types.struct("meta/v1.DeleteOptions")
    media_type = declared_type(request.header(b"content-type"))
    if media_type and media_type not in media_types(dialect):
        raise with_hint(dialect, media_type, unsupported_media_type(media_types(dialect)))
    value: Any
    try:
        if media_type == dialect.protobuf_media_type:
            named_version, named_kind, content = envelope(raw)
            options = parse_json(content) if content_type(raw) == JSON else None
            if not isinstance(options, dict):
                options = from_message(struct, content)
            value = {"apiVersion": named_version, "kind": named_kind, **options}
        else:
            value = parse_yaml(raw)[0] if media_type == YAML else parse_json(raw)
    except (BodyError, ProtobufError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error: not an object")
    kind = value.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        version = value.get("apiVersion") or "v1"
        where = f" in scheme {quote(_SCHEME)}" if api.gates["LaterWording"] else ""
        raise bad_request(f'no kind "{kind}" is registered for version "{version}"{where}')
    try:
        decoded: dict[str, Any] = decoder(struct)(value, [])
    except DecodeError as mismatch:
        raise bad_request(str(mismatch)) from None
    return decoded


def list_options(api: Api, request: Request, chunking: bool) -> ListOptions:
    limit = integer(request, "limit") or 0
    watch = request.target.verb == "watch"
    options = ListOptions(
        limit=limit if limit > 0 and chunking else 0,
        token=request.parameter("continue") if chunking else "",
        revision=request.parameter("resourceVersion"),
        match=request.parameter("resourceVersionMatch"),
        timeout=integer(request, "timeoutSeconds"),
        watch=watch,
        bookmarks=flag(request, "allowWatchBookmarks"),
    )
    if api.gates["WatchList"]:
        if "sendInitialEvents" in request.query:
            options.initial = flag(request, "sendInitialEvents")
        elif watch and not options.match and options.revision in ("", "0"):
            options.initial = True
            return options
    if options.match or options.initial is not None:
        causes = new_causes(api.gates)
        requested = flag(request, "watch")  # a path below /watch/ is checked as a list
        if watch and requested and api.gates["WatchList"]:
            _check_initial(options, causes)
        else:
            _check_match(options, causes, is_watch=requested)
        _raise_options(api.dialect, "ListOptions", causes)
    return options


def _check_initial(options: ListOptions, causes: Causes) -> None:
    """Check a watch that may begin with the present state."""
    field, needed = "resourceVersionMatch", "NotOlderThan"
    if options.initial is not None and options.match != needed:
        causes.forbidden(field, f"sendInitialEvents requires setting {field} to {needed}")
    if not options.match:
        return
    if options.initial is None:
        causes.forbidden(
            field, f"{field} is forbidden for watch unless sendInitialEvents is provided"
        )
    if options.match != needed:
        causes.unsupported(field, options.match, (needed,))
    if options.token:
        causes.forbidden(field, f"{field} is forbidden when continue is provided")


def _check_match(options: ListOptions, causes: Causes, is_watch: bool) -> None:
    if options.match:
        _check_list_match(options, causes, is_watch)
    if options.initial is not None:
        causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _check_list_match(options: ListOptions, causes: Causes, is_watch: bool) -> None:
    field = "resourceVersionMatch"
    if is_watch:
        causes.forbidden(field, "resourceVersionMatch is forbidden for watch")
    if not options.revision:
        causes.forbidden(
            field, "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    if options.token:
        causes.forbidden(field, "resourceVersionMatch is forbidden when continue is provided")
    if options.match not in ("Exact", "NotOlderThan"):
        causes.unsupported(field, options.match, ("Exact", "NotOlderThan", ""))
    elif options.match == "Exact" and options.revision == "0":
        causes.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


def selection_of(request: Request, resource: Resource) -> Selection:
    """The label and field selectors of a request; 400 if malformed."""
    if "labelSelector" not in request.query and "fieldSelector" not in request.query:
        return EVERYTHING
    return select(resource, request.parameter("labelSelector"), request.parameter("fieldSelector"))


# Deadlines of requests that are shorter than the server's general one.

# Verbs on stored objects with a shorter deadline, and that deadline in seconds.
BRIEF: Final = frozenset(("create", "update", "patch", "delete"))
_BRIEF_SECONDS: Final = 34.0


def limit(request: Request) -> bool:
    """Set the deadline of a routed request: its `timeout` parameter, capped for short verbs.
    Returns whether the deadline has already passed; then the request must not run."""
    target = request.target
    if is_long_running(target):
        return False
    try:
        seconds = timeout_of(request) if request.query else 0
    except StatusError:
        seconds = 0  # `Handler.admit` refuses the invalid timeout
    if target.verb in BRIEF and target.resource is not None and not 0 < seconds < _BRIEF_SECONDS:
        seconds = _BRIEF_SECONDS
    if seconds > 0:
        request.exchange.limit(seconds)
        request.deadline = request.exchange.deadline
    return request.exchange.timed_out
