"""Handler of patch: JSON patch, merge patch, strategic merge patch and apply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import orjson

from fairlead.api.request import Request
from fairlead.base.errors import StatusError, bad_request, unsupported_media_type
from fairlead.codec.bodies import (
    BodyError,
    TooDeep,
    check_values,
    duplicate_fields,
    parse_json,
    parse_yaml,
)
from fairlead.codec.types.decode import unknown_paths
from fairlead.codec.types.mismatch import conversion_error, json_kind, plain_text
from fairlead.codec.types.model import ListOf, MapOf, Struct, Type
from fairlead.fields import json_patch, strategic
from fairlead.fields.errors import MalformedPatch, TooManyOperations
from fairlead.fields.merge_patch import apply_merge_patch, merge_document
from fairlead.fields.values import compact_json, escaped_json
from fairlead.operations.api import Object
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.patch import Patch
from fairlead.operations.write_pipeline import strict_errors, warn_of
from fairlead.resources.registry import Resource

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
_MEMBERS: Final[tuple[str, ...]] = ("op", "path", "from", "value")
TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
CUSTOM_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY)  # schemas define no merge strategies
CUSTOM_SCALE_TYPES = (JSON_PATCH, MERGE_PATCH)  # field ownership does not cover their Scale


def check_patch_type(request: Request, resource: Resource) -> str:
    """The media type of a patch; raises 415 for unsupported types."""
    media_type = request.header(b"content-type").partition(";")[0].strip()
    if resource.main.custom is not None:
        if media_type not in CUSTOM_TYPES:
            raise unsupported_media_type(CUSTOM_TYPES)
        if resource.is_scale and media_type == APPLY:
            raise unsupported_media_type(CUSTOM_SCALE_TYPES)
    elif media_type not in TYPES:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return media_type


def read_patch(
    resource: Resource, media_type: str, raw: bytes, *, drops_directives: bool = False
) -> Patch:
    """Parse a patch document; raises 400 if malformed."""
    prefix = "" if media_type == STRATEGIC else "error decoding patch: "
    check_values(raw)
    try:
        document = parse_json(raw)
        repeated = duplicate_fields(raw, document)
    except (BodyError, TooDeep) as error:
        raise bad_request(f"{prefix}{error}") from None
    text = patched_custom_text if resource.lacks_protobuf else partial(patched_text, resource)
    try:
        match media_type:
            case "application/json-patch+json":
                operations = json_patch.operations(document)
                warnings = _operation_warnings(operations, repeated)
                return Patch(
                    lambda value: json_patch.apply_json_patch(value, operations), text, warnings
                )
            case "application/merge-patch+json":
                merge = merge_document(document)
                if not resource.lacks_protobuf:
                    text = partial(merged_text, resource)
                apply: Callable[[Object], Object] = lambda value: apply_merge_patch(value, merge)  # noqa: E731
            case _:
                merge = strategic.strategic_document(document)
                apply = lambda value: strategic.apply_strategic_patch(  # noqa: E731
                    resource.struct, value, merge, drops_directives=drops_directives
                )
    except MalformedPatch as malformed:
        raise bad_request(str(malformed)) from None
    except TooManyOperations as many:
        raise StatusError(413, "RequestEntityTooLarge", str(many)) from None
    explain = conversion_error if media_type == STRATEGIC else str
    warnings = [f'duplicate field "{path}"' for path in repeated]
    render = text if media_type == MERGE_PATCH else lambda _before, _after: plain_text(merge)
    return Patch(apply, render, warnings, explain)


def _operation_warnings(operations: list[Object], repeated: list[str]) -> list[str]:
    """Warnings about unknown and duplicate members of operations, in the order of the operations.
    Duplicates of unknown members are not reported."""
    duplicates: dict[str, list[str]] = {}  # duplicate members by operation
    for path in repeated:
        index_text, _, member = path.partition(".")
        if member.partition(".")[0].partition("[")[0] in _MEMBERS:
            duplicates.setdefault(index_text, []).append(path)
    warnings: list[str] = []
    for index, operation in enumerate(operations):
        index_text = f"[{index}]"
        warnings += [
            f'json patch unknown field "{index_text}.{name}"'
            for name in operation
            if name not in _MEMBERS
        ]
        warnings += [
            f'json patch duplicate field "{path}"' for path in duplicates.get(index_text, ())
        ]
    return warnings


def patched_text(resource: Resource, old: Object, new: Object) -> str:
    """A document after a JSON patch, as error messages show it: keys on the path to a change are
    sorted, values of the patch are as sent, all others are in the order of their type."""
    return _document_text(resource, old, new, is_merge=False)


def merged_text(resource: Resource, old: Object, new: Object) -> str:
    """A document after a merge patch, as error messages show it: as `patched_text`, but keys in
    values of the patch are sorted, too."""
    return _document_text(resource, old, new, is_merge=True)


def _document_text(resource: Resource, old: Object, new: Object, *, is_merge: bool) -> str:
    """The text of a patched document; `{...}` if it is nested too deeply to encode."""
    try:
        document = _sorted_where_changed(_in_type_order(resource.struct, old), new, is_merge)
        return escaped_json(orjson.dumps(document).decode())
    except (TypeError, RecursionError):
        return "{...}"


def _in_type_order(node: Type, value: Any) -> Any:
    """A value with struct fields in the order of their type and map keys sorted."""
    match node:
        case Struct() if isinstance(value, dict):
            type_fields = ("kind", "apiVersion") if node.is_kind else ()
            names = [name for name in (*type_fields, *node.fields, *value) if name in value]
            return {
                name: _in_type_order(node.fields[name].type, value[name])
                if name in node.fields
                else value[name]
                for name in dict.fromkeys(names)
            }
        case MapOf() if isinstance(value, dict):
            return {key: _in_type_order(node.element, value[key]) for key in sorted(value)}
        case ListOf() if isinstance(value, list):
            return [_in_type_order(node.element, item) for item in value]
    return value


def patched_custom_text(old: Object, new: Object) -> str:
    """As `patched_text`, for a custom object: no type defines an order of its keys."""
    try:
        return compact_json(new)
    except (TypeError, RecursionError):
        return "{...}"


def _sorted_where_changed(old: Any, new: Any, is_merge: bool) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            name: old[name]
            if name in old and old[name] == new[name]
            else _sorted_where_changed(old.get(name), new[name], is_merge)
            for name in sorted(new)
        }
    if is_merge:
        return orjson.loads(orjson.dumps(new, option=orjson.OPT_SORT_KEYS))
    if isinstance(old, list) and isinstance(new, list):
        moved = len(old) - len(new)
        return [_item_in_order(old, index, index + moved, item) for index, item in enumerate(new)]
    return new


def _item_in_order(old_items: list[Any], index: int, moved: int, item: Any) -> Any:
    """A list item after a JSON patch. Finds the item's previous value at the same index, or at the
    index shifted by items added or removed before it."""
    for place in (index, moved):
        if 0 <= place < len(old_items) and old_items[place] == item:
            return old_items[place]
    old_item = old_items[index] if index < len(old_items) else None
    return _sorted_where_changed(old_item, item, is_merge=False)


def read_configuration(operation: Operation, raw: bytes, options: WriteOptions) -> Object:
    try:
        check_values(raw)
        value, repeated = parse_yaml(raw)
    except BodyError as error:
        message = f"error converting YAML to JSON: {error}"
        raise bad_request(f"error decoding YAML: {message}") from None
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
    """The error for a configuration with duplicate fields. In dialects with
    `strict_apply_names_all`, it lists unknown fields, too."""
    errors = "\n  ".join(["yaml: unmarshal errors:", *repeated])
    if resource.dialect.strict_apply_names_all and isinstance(value, dict):
        errors = ", ".join(strict_errors(unknown_paths(resource.struct, value), [errors]))
    message = f"error converting YAML to JSON: {errors}"
    return bad_request(f"error strict decoding YAML: {message}")
