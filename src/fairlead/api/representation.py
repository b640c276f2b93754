"""Converts stored versions to the requested form: the object, its metadata or a Table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from fairlead.api.answers import Answer, encode
from fairlead.api.negotiation import Representation
from fairlead.api.protobuf_cache import enveloped_message, is_binary
from fairlead.api.request import Request
from fairlead.api.stored_tables import can_write, item_writer, table_of
from fairlead.api.streamed_answers import after_step
from fairlead.base import budget, clock, meter
from fairlead.base.deferred import Outcome
from fairlead.base.dialect import Dialect
from fairlead.base.errors import bad_request
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.views import typed, view_of
from fairlead.resources.columns import registry as printers
from fairlead.resources.registry import Resource, Resources, from_stored
from fairlead.storage.version import Version

_LARGE: Final = 128 * 1024  # bytes; takes as long to send as many small answers
INCLUDES: Final[tuple[str, ...]] = ("", "Metadata", "Object", "None")


def read(resource: Resource, entry: Version) -> Object:
    """The entry's object in the version of the resource, with kind and apiVersion."""
    return typed(resource, from_stored(resource, entry.object()))


def metadata_only(dialect: Dialect, value: Object, version: str) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{dialect.meta_group}/{version}",
        "metadata": value["metadata"],
    }


def untyped(value: Object) -> Object:
    """Without kind and apiVersion, as in the items of a built-in list."""
    return {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}


def include_object(request: Request) -> str:
    """The `includeObject` parameter of a Table request; 400 for an invalid value."""
    wanted = request.parameter("includeObject")
    if wanted not in INCLUDES:
        raise bad_request(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" \"{wanted}\": must be 'Metadata', 'Object', 'None', or empty"
        )
    return wanted or "Metadata"


def table(
    dialect: Dialect,
    resource: Resource,
    values: Iterable[Object],
    representation: Representation,
    include: str,
    metadata: Object,
    with_columns: bool = True,
) -> Object:
    """A Table of objects that have kind and apiVersion."""
    printer = printers.printer_of(resource)
    now = clock.now()
    rows = []
    if printer.order is not None:
        values = sorted(values, key=printer.order)
    for value in values:
        row: Object = {"cells": printer.cells(value, now)}
        conditions = printer.conditions(value) if printer.conditions else []
        if conditions:
            row["conditions"] = conditions
        row["object"] = _row_object(dialect, value, representation.version, include)
        rows.append(row)
    columns = [column.as_dict() for column in printer.columns] if with_columns else None
    return {
        "kind": "Table",
        "apiVersion": f"{dialect.meta_group}/{representation.version}",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }


def _row_object(dialect: Dialect, value: Object, version: str, include: str) -> Object | None:
    if include == "Object":
        return value
    return metadata_only(dialect, value, version) if include == "Metadata" else None


def item_answer(
    api: Api, request: Request, operation: Operation, version: Version, code: int = 200
) -> Outcome[Answer]:
    """The answer for a stored object. Plain JSON is sent as the stored bytes, without decoding."""
    resource = operation.resource
    if resource.is_scale:
        scale = view_of(api, resource).read(version.object())
        return object_answer(api.resources, request, resource, scale, code)
    main, form = resource.main, request.representation
    if form.is_plain and main.sends_stored_bytes:
        assert version.body is not None
        answer = Answer(code, main.head + version.body)
        return answer if len(version.body) <= _LARGE else after_step(answer)
    size = len(version.body or b"")
    if size <= meter.MAX_BYTES_ON_LOOP and is_binary(main, form):
        content = operation.content_of(version)
        return Answer(code, enveloped_message(main, form, version, content), form.media_type)
    if form.transform and can_write(main, form):
        if form.transform == "Table":
            written = table_of(version, resource, form, include_object(request))
        else:
            written = item_writer(main, form)(version)
        return Answer(code, written + b"\n")
    return budget.start(size, partial(_read_answer, api, request, main, version, code))


def _read_answer(
    api: Api, request: Request, resource: Resource, version: Version, code: int
) -> Answer:
    return object_answer(api.resources, request, resource, read(resource, version), code)


def object_answer(
    resources: Resources, request: Request, resource: Resource, value: Object, code: int = 200
) -> Answer:
    """The answer for a decoded object that has kind and apiVersion."""
    representation, dialect = request.representation, resources.dialect
    match representation.transform:
        case "Table":
            include = include_object(request)
            metadata = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
            value = table(dialect, resource, [value], representation, include, metadata)
        case "PartialObjectMetadata":
            value = metadata_only(dialect, value, representation.version)
    return Answer(code, encode(value, representation, resources), representation.media_type)
