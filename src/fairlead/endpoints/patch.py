"""PATCH of an item: JSON patch, merge patch, strategic merge patch and apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from fairlead import budget
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.parameters import write_options
from fairlead.endpoints.representing import item_answer
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, bad_request, unsupported_media_type
from fairlead.kinds.resources import Resource
from fairlead.operations.api import Api, Object
from fairlead.operations.apply import apply
from fairlead.operations.field_validation import strict_errors, warn_of
from fairlead.operations.known_configurations import Held
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.patch import Patch, check_exists, patch
from fairlead.patching.errors import MalformedPatch, TooManyOperations
from fairlead.patching.json_patch import apply_json_patch, operations
from fairlead.patching.merge_patch import apply_merge_patch, merge_document
from fairlead.patching.strategic import apply_strategic_patch, strategic_document
from fairlead.patching.values import compact_json, escaped_json
from fairlead.schema.decode import unknown_paths
from fairlead.schema.mismatch import conversion_error, json_kind
from fairlead.schema.wording import plain_text
from fairlead.serialization.bodies import BodyError, parse_json, parse_yaml
from fairlead.serialization.duplicates import duplicate_fields
from fairlead.serialization.limits import TooDeep, check_values

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_MEMBERS = ("op", "path", "from", "value")
TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
CUSTOM_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY)  # a schema says nothing of strategies
CUSTOM_SCALE_TYPES = (JSON_PATCH, MERGE_PATCH)  # owners of a custom kind know nothing of its Scale


def check_patch_type(request: Request, resource: Resource) -> str:
    """The media type of a patch; 415 for what is none."""
    media_type = request.header(b"content-type").partition(";")[0].strip()
    if resource.main.custom is not None:
        if media_type not in CUSTOM_TYPES:
            raise unsupported_media_type(CUSTOM_TYPES)
        if resource.is_scale and media_type == APPLY:
            raise unsupported_media_type(CUSTOM_SCALE_TYPES)
    elif media_type not in TYPES:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return media_type


async def answer_patch(api: Api, request: Request, operation: Operation) -> Answer:
    media_type = check_patch_type(request, operation.resource)
    raw = operation.sent = await request.body()
    is_apply = media_type == APPLY
    options = write_options(api.dialect, request, "PatchOptions", apply=is_apply)
    operation.manager = options.manager
    if is_apply:
        return await _answer_apply(api, request, operation, raw, options)
    await check_exists(api, operation)
    read = await budget.run(len(raw), _read, operation.resource, media_type, raw)
    version = await patch(api, operation, read, options)
    return await item_answer(api, request, operation, version)


async def _answer_apply(
    api: Api, request: Request, operation: Operation, raw: bytes, options: WriteOptions
) -> Answer:
    known = await api.known_applies.find(api, operation, raw, options)
    if known is not None:
        return await item_answer(api, request, operation, known)
    sent: Object | Held | None = api.known_configurations.find(operation, raw, options.manager)
    if sent is None:
        sent = await budget.run(len(raw), _configuration, operation, raw, options)
    before = api.known_applies.before(api, operation)
    outcome = await apply(api, operation, sent, options)
    api.known_applies.keep(api, operation, raw, options, before)
    code = 201 if outcome.created else 200
    return await item_answer(api, request, operation, outcome.version, code)


def _read(resource: Resource, media_type: str, raw: bytes) -> Patch:
    """Read a patch document; 400 for what is not one."""
    prefix = "" if media_type == STRATEGIC else "error decoding patch: "
    check_values(raw)
    try:
        document = parse_json(raw)
        repeated = duplicate_fields(raw, document)
    except (BodyError, TooDeep) as error:
        raise bad_request(f"{prefix}{error}") from None
    text = patched_custom_text if resource.speaks_text_only else patched_text
    try:
        match media_type:
            case "application/json-patch+json":
                found = operations(document)
                named = _told_of_operations(found, repeated)
                return Patch(lambda value: apply_json_patch(value, found), text, named)
            case "application/merge-patch+json":
                merge = merge_document(document)
                make: Callable[[Object], Object] = lambda value: apply_merge_patch(value, merge)  # noqa: E731
            case _:
                merge = strategic_document(document)
                make = lambda value: apply_strategic_patch(resource.struct, value, merge)  # noqa: E731
    except MalformedPatch as malformed:
        raise bad_request(str(malformed)) from None
    except TooManyOperations as many:
        raise StatusError(413, "RequestEntityTooLarge", str(many)) from None
    explain = conversion_error if media_type == STRATEGIC else str
    named = [f'duplicate field "{path}"' for path in repeated]
    shown = text if media_type == MERGE_PATCH else lambda _before, _after: plain_text(merge)
    return Patch(make, shown, named, explain)


def _told_of_operations(found: list[Object], repeated: list[str]) -> list[str]:
    """What is said of the members of operations, one operation after the other; not that an unknown
    one stands twice."""
    known: dict[str, list[str]] = {}  # repeated ones by the operation that they are in
    for path in repeated:
        place, _, rest = path.partition(".")
        if rest.partition(".")[0].partition("[")[0] in _MEMBERS:
            known.setdefault(place, []).append(path)
    told: list[str] = []
    for index, operation in enumerate(found):
        place = f"[{index}]"
        told += [
            f'json patch unknown field "{place}.{name}"'
            for name in operation
            if name not in _MEMBERS
        ]
        told += [f'json patch duplicate field "{path}"' for path in known.get(place, ())]
    return told


def patched_text(before: Object, after: Object) -> str:
    """A patched document as the reference shows it: what was changed has its keys sorted. What is
    nested too deeply for any type is not shown."""
    try:
        return escaped_json(orjson.dumps(_sorted_where_changed(before, after)).decode())
    except (TypeError, RecursionError):
        return "{...}"


def patched_custom_text(before: Object, after: Object) -> str:
    """The same of a custom object, which has no type that gives its keys another order."""
    try:
        return compact_json(after)
    except (TypeError, RecursionError):
        return "{...}"


def _sorted_where_changed(before: Any, after: Any) -> Any:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    return {
        key: after[key]
        if before.get(key) == after[key]
        else _sorted_where_changed(before.get(key), after[key])
        for key in sorted(after)
    }


def _configuration(operation: Operation, raw: bytes, options: WriteOptions) -> Object:
    try:
        check_values(raw)
        value, repeated = parse_yaml(raw)
    except BodyError as error:
        what = f"error converting YAML to JSON: {error}"
        raise bad_request(f"error decoding YAML: {what}") from None
    if repeated:
        if options.validation == "Strict":
            raise _repeated_in_configuration(operation.resource, value, repeated)
        warn_of(operation, repeated, options.validation)
    if value is not None and not isinstance(value, dict):
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot"
            f" unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}"
        )
    return value or {}


def _repeated_in_configuration(resource: Resource, value: Any, repeated: list[str]) -> StatusError:
    """What is said of a configuration that repeats fields; as specified, its unknown fields are
    named with them."""
    errors = "\n  ".join(["yaml: unmarshal errors:", *repeated])
    if resource.dialect.strict_apply_names_all and isinstance(value, dict):
        errors = ", ".join(strict_errors(unknown_paths(resource.struct, value), [errors]))
    why = f"error converting YAML to JSON: {errors}"
    return bad_request(f"error strict decoding YAML: {why}")
