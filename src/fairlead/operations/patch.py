"""Changing an object by a patch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.errors import ResourceRef, StatusError, bad_request, invalid, not_found
from fairlead.kinds.causes import Causes
from fairlead.operations import preparing
from fairlead.operations.api import Api, Object
from fairlead.operations.certainty import is_certain
from fairlead.operations.field_validation import (
    check_custom_type,
    check_required,
    strict_errors,
    warn_of,
)
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.tracking import decode_beside
from fairlead.operations.update import Changed, store_changed
from fairlead.operations.views import View, view_of
from fairlead.patching.errors import MalformedPatch, OperationFailed, UnsupportedPatch
from fairlead.schema.decode import unknown_paths, unknown_paths_of_custom
from fairlead.schema.mismatch import DecodeError
from fairlead.storage.version import Version


@dataclass(slots=True)
class Patch:
    """A patch that was read: what it does to a document, how messages show it, and the repeated
    keys in it."""

    apply: Callable[[Object], Object]
    shown: Callable[[], str]
    repeated: list[str]
    explain: Callable[[DecodeError], str] = str


async def check_exists(api: Api, operation: Operation) -> None:
    """404 for what is not there; a patch of it is not even read."""
    collection, key = api.collection(operation.resource), operation.key
    if api.store.latest(collection, key) is None and await is_certain(collection, key):
        raise not_found(operation.ref)


async def patch(api: Api, operation: Operation, read: Patch, options: WriteOptions) -> Version:
    view = view_of(api, operation.resource)

    def change(old: Object) -> Changed:
        value = _patched(api, operation, view, read, old, options)
        return Changed(view.write(old, value))

    return await store_changed(api, operation, change, options)


def _patched(
    api: Api, operation: Operation, view: View, read: Patch, old: Object, options: WriteOptions
) -> Object:
    """The object after the patch, decoded and checked to be the one that is meant."""
    try:
        document = read.apply(view.read_to_change(old))
    except OperationFailed:
        raise StatusError(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
            details={},
        ) from None
    except (MalformedPatch, UnsupportedPatch) as error:
        raise bad_request(str(error)) from None
    value = _decoded(api, operation, view, read, document, options, old)
    preparing.check_name(operation.name, value["metadata"])
    preparing.set_namespace(operation, value["metadata"])
    return value


def _decoded(
    api: Api,
    operation: Operation,
    view: View,
    read: Patch,
    document: Object,
    options: WriteOptions,
    old: Object,
) -> Object:
    """What a patch made of an object."""
    document = dict(document)
    if not document.get("apiVersion"):
        _refuse_nameless(api, operation, read, document, options)
    if view.resource.speaks_text_only:
        _check_custom(operation, view, document, options)
    wanted = {"kind": view.kind, "apiVersion": view.api_version}
    for name, expected in wanted.items():
        if (document.pop(name, None) or expected) != expected:
            raise _refused(api, read, f"the {name} of the object may not change", strict=False)
    unknown: list[str] = []
    try:
        value = decode_beside(view.main, view.struct, document, old, unknown)
    except DecodeError as error:
        strict = bool(read.repeated or unknown_paths(view.struct, document))
        raise _refused(api, read, read.explain(error), strict=strict) from None
    if unknown or read.repeated:
        operation.has_unknown_fields = bool(unknown)
        paths = _unknown_paths(view, document) if unknown else []
        found = strict_errors(paths, read.repeated)
        if options.validation == "Strict":
            raise _refused(api, read, f"strict decoding error: {', '.join(found)}", strict=True)
        warn_of(operation, found, options.validation)
    if api.dialect.required_fields_refused:
        check_required(view.resource, document)
    return value


def _unknown_paths(view: View, document: Object) -> list[str]:
    """Patched documents have their keys sorted."""
    if view.resource.speaks_text_only:
        return unknown_paths_of_custom(view.struct, document)
    return unknown_paths(view.struct, document, sort_keys=True)


def _check_custom(
    operation: Operation, view: View, document: Object, options: WriteOptions
) -> None:
    """Of a version that the resource does not speak no field is known."""
    if document.get("apiVersion") != view.api_version:
        fields = sorted(set(document) - {"kind", "apiVersion", "metadata"})
        warn_of(operation, strict_errors(fields, []), options.validation)
    check_custom_type(view.main, document)


def _refuse_nameless(
    api: Api, operation: Operation, read: Patch, document: Object, options: WriteOptions
) -> None:
    """Without its version nothing of a document is understood, its name neither."""
    fields = sorted(name for name in document if name not in ("kind", "apiVersion"))
    found = strict_errors(fields, read.repeated)
    if found and options.validation == "Strict":
        raise _refused(api, read, f"strict decoding error: {', '.join(found)}", strict=True)
    warn_of(operation, found, options.validation)
    preparing.check_name(operation.name, {})


def _refused(api: Api, read: Patch, why: str, *, strict: bool) -> StatusError:
    """A patch whose result is not an object of the type. The specification wants 400 where unknown
    or repeated fields are part of it."""
    if strict and api.dialect.strict_patch_bad_request:
        return bad_request(why)
    causes = Causes()
    causes.invalid("patch", read.shown(), why)
    return invalid(ResourceRef("", ""), causes)
