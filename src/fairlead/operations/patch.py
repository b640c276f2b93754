"""Changing an object by a JSON, merge or strategic merge patch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairlead.base.errors import ResourceRef, StatusError, bad_request, invalid
from fairlead.codec.types.decode import unknown_paths, unknown_paths_of_custom
from fairlead.codec.types.mismatch import DecodeError, json_kind
from fairlead.fields.errors import MalformedPatch, OperationFailed, UnsupportedPatch
from fairlead.operations import foreign_kinds, write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.managed_fields import decode_beside
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.views import View
from fairlead.operations.write_pipeline import (
    check_required,
    custom_type_error,
    strict_errors,
    warn_of,
)
from fairlead.resources.causes import new_causes


@dataclass(slots=True)
class Patch:
    """A parsed patch: the function that applies it, the function that renders it for messages
    (given the document before and after), and the duplicate keys in it."""

    apply: Callable[[Object], Object]
    render: Callable[[Object, Object], str]
    repeated: list[str]
    explain: Callable[[DecodeError], str] = str


class _Refused(Exception):
    """The patched document is not a valid object of the type."""

    def __init__(self, message: str, *, strict: bool) -> None:
        super().__init__(message)
        self.message = message
        self.strict = strict


def apply_patch(
    api: Api, operation: Operation, view: View, patch: Patch, old: Object, options: WriteOptions
) -> tuple[Object, bool]:
    """The stored object after the patch, and whether it changes nothing but metadata. Name and
    namespace are checked."""
    original = view.read_to_change(old)
    try:
        document = patch.apply(original)
    except OperationFailed:
        raise StatusError(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
            details={},
        ) from None
    except (MalformedPatch, UnsupportedPatch) as error:
        raise bad_request(str(error)) from None
    except DecodeError as mismatch:
        refusal = _Refused(patch.explain(mismatch), strict=False)
        raise _refusal(api, patch.render(original, original), refusal) from None
    view = _view_of_document(api, view, document)
    try:
        value, keeps_content = _decoded(api, operation, view, patch, document, options, old)
    except _Refused as refused:
        raise _refusal(api, patch.render(original, document), refused) from None
    write_pipeline.check_name(operation.name, value["metadata"])
    write_pipeline.set_namespace(operation, value["metadata"])
    return view.write(old, value), keeps_content


def _view_of_document(api: Api, view: View, document: Object) -> View:
    """The view in the apiVersion of the patched document: a patch may switch to any served version
    of the kind."""
    api_version = document.get("apiVersion")
    main = view.main
    if api_version == view.api_version or not isinstance(api_version, str):
        return view
    if view.resource.is_scale or main.custom is not None:
        return view
    group, _, version = api_version.rpartition("/")
    converted = api.resources.find(group, version, main.name)
    if converted is None or converted.stored_struct is not main.stored_struct:
        return view
    return View(api, converted)


def _decoded(
    api: Api,
    operation: Operation,
    view: View,
    patch: Patch,
    document: Object,
    options: WriteOptions,
    old: Object,
) -> tuple[Object, bool]:
    """Decode the patched document, see `decode_beside`."""
    document = dict(document)
    if not document.get("apiVersion"):
        _reject_missing_version(operation, patch, document, options)
    if view.resource.lacks_protobuf:
        _check_custom(operation, view, patch, document, options)
    kind = document.pop("kind", None) or view.kind
    api_version = document.pop("apiVersion", None) or view.api_version
    is_foreign = kind != view.kind or api_version != view.api_version
    if is_foreign and not view.resource.lacks_protobuf:
        raise _Refused(_foreign(api, view, api_version, kind), strict=False)
    unknown: list[str] = []
    try:
        value, keeps_content = decode_beside(view.main, view.struct, document, old, unknown)
    except DecodeError as error:
        strict = bool(patch.repeated or unknown_paths(view.struct, document))
        raise _Refused(patch.explain(error), strict=strict) from None
    if unknown or patch.repeated:
        operation.has_unknown_fields = bool(unknown)
        paths = _unknown_paths(view, document) if unknown else []
        errors = strict_errors(paths, patch.repeated)
        if options.validation == "Strict":
            raise _Refused(f"strict decoding error: {', '.join(errors)}", strict=True)
        warn_of(operation, errors, options.validation)
    if api.dialect.required_fields_refused:
        check_required(view.resource, document)
    return value, keeps_content


def _unknown_paths(view: View, document: Object) -> list[str]:
    """The paths of unknown fields; patched documents have sorted keys."""
    if view.resource.lacks_protobuf:
        return unknown_paths_of_custom(view.struct, document)
    return unknown_paths(view.struct, document, sort_keys=True)


def _check_custom(
    operation: Operation, view: View, patch: Patch, document: Object, options: WriteOptions
) -> None:
    """Check kind and apiVersion. All fields of a document in another version count as unknown."""
    message = _unreadable(document.get("apiVersion") or "", document.get("kind"))
    if not message and not document.get("kind"):
        message = f"Object 'Kind' is missing in '{patch.render(document, document)}'"
    if message:
        raise _Refused(message, strict=False)
    if document.get("apiVersion") != view.api_version:
        fields = sorted(set(document) - {"kind", "apiVersion", "metadata"})
        warn_of(operation, strict_errors(fields, []), options.validation)
    operation.refusal = custom_type_error(view.main, document)


def _reject_missing_version(
    operation: Operation, patch: Patch, document: Object, options: WriteOptions
) -> None:
    """Without an apiVersion all fields are unknown, including the name."""
    fields = sorted(name for name in document if name not in ("kind", "apiVersion"))
    errors = strict_errors(fields, patch.repeated)
    if errors and options.validation == "Strict":
        raise _Refused(f"strict decoding error: {', '.join(errors)}", strict=True)
    warn_of(operation, errors, options.validation)
    write_pipeline.check_name(operation.name, {})


def _foreign(api: Api, view: View, api_version: Any, kind: Any) -> str:
    message = _unreadable(api_version, kind)
    return message or foreign_kinds.foreign_kind(api.resources, view.resource, api_version, kind)


def _unreadable(api_version: Any, kind: Any) -> str:
    """The reason why apiVersion and kind cannot name any type; empty if they can."""
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if value is not None and not isinstance(value, str):
            return (
                "couldn't get version/kind; json parse error: json: cannot unmarshal"
                f" {json_kind(value)} into Go struct field .{name} of type string"
            )
    if api_version.count("/") > 1:
        return f"unexpected GroupVersion string: {api_version}"
    return ""


def _refusal(api: Api, patch_text: str, refused: _Refused) -> StatusError:
    """The error for a patch with an invalid result. The specification requires 400 if unknown or
    duplicate fields are involved."""
    if refused.strict and api.dialect.strict_patch_bad_request:
        return bad_request(refused.message)
    causes = new_causes(api.gates)
    causes.invalid("patch", patch_text, refused.message)
    return invalid(ResourceRef("", ""), causes)
