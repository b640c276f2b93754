"""From a request body to an object of the resource's type."""

from __future__ import annotations

from typing import Any

from fairlead.endpoints.negotiation import JSON, YAML, media_types
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, bad_request, unsupported_media_type
from fairlead.kinds.resources import Resource, Resources
from fairlead.schema.decode import DecodeError, decoder
from fairlead.schema.model import Struct
from fairlead.serialization.bodies import (
    BodyError,
    parse_json,
    parse_json_exactly,
    parse_yaml,
    summary,
)

Object = dict[str, Any]

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
MOST_STRICT_ERRORS = 40


def body_format(request: Request, resources: Resources) -> str:
    """The media type of the body: JSON unless said otherwise; 415 for what we cannot read."""
    declared = request.header(b"content-type").partition(";")[0].strip()
    if declared in ("", JSON):
        return JSON
    if declared == YAML:
        return YAML
    raise unsupported_media_type(media_types(resources.dialect))


def parse_body(raw: bytes, media_type: str, kind: str) -> Object:
    """The parsed document, which must be an object."""
    if not raw.strip():
        raise bad_request(
            "the object provided is unrecognized (must be of type"
            f" {kind}): couldn't get version/kind; json parse error: unexpected end"
            f" of JSON input ({summary(raw)})"
        )
    try:
        value = parse_json(raw) if media_type == JSON else parse_yaml(raw)
        if not isinstance(value, dict):
            raise BodyError(_not_an_object(value))
        _check_type_meta(value)
    except BodyError as error:
        what = f"couldn't get version/kind; json parse error: {error}"
        if media_type == YAML and str(error).startswith("yaml:"):
            what = str(error)
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {what} ({summary(raw)})"
        ) from None
    return value


def _json_word(value: Any) -> str:
    words = {str: "string", bool: "bool", list: "array", dict: "object"}
    return words.get(type(value), "number")


def _not_an_object(value: Any) -> str:
    wanted = (
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string'
        ' "json:\\"kind,omitempty\\"" }'
    )
    return f"json: cannot unmarshal {_json_word(value)} into Go value of type {wanted}"


def _check_type_meta(value: Object) -> None:
    for name in ("apiVersion", "kind"):
        found = value.get(name)
        if found is not None and not isinstance(found, str):
            raise BodyError(
                f"json: cannot unmarshal {_json_word(found)} into Go struct field .{name}"
                " of type string"
            )


def check_kind(resources: Resources, resource: Resource, value: Object) -> None:
    """The body must be of the kind and version that the URL names; both may be left out."""
    kind = value.get("kind") or resource.kind
    own_version = _body_api_version(resources, resource)
    api_version = value.get("apiVersion") or own_version
    if kind == resource.kind and api_version == own_version:
        return
    where = f'{kind} in version "{resource.group_version.version}"'
    known = _struct_of(resources, api_version, kind)
    if known is None:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
    else:
        version = known.group_version.partition("/")[2]
        theirs = f"({version}.{kind}) to ({resource.group_version.short}.{resource.kind})"
        why = f"converting {theirs}: unknown conversion"
    raise bad_request(f"{where} cannot be handled as a {resource.kind}: {why}")


def _body_api_version(resources: Resources, resource: Resource) -> str:
    if resource.body_version == resource.group_version.table_name:
        return resource.api_version
    return resources.api_version_of(resource.body_version)


def _struct_of(resources: Resources, api_version: str, kind: str) -> Struct | None:
    group, _, version = api_version.rpartition("/")
    found = resources.groups.get(group, {}).get(version)
    if found is None:
        return None
    struct = resources.types.group_version(found.table_name).get(kind)
    return struct if struct is not None and struct.is_kind else None


def decode_object(
    request: Request, resource: Resource, value: Object, raw: bytes, validation: str
) -> Object:
    """The decoded object without kind and apiVersion; unknown fields are dropped, warned of or
    refused as `validation` says."""
    value.pop("kind", None)
    value.pop("apiVersion", None)
    unknown: list[str] = []
    try:
        decoded: Object = decoder(resource.struct)(value, unknown)
    except DecodeError as error:
        raise _decode_failure(resource, value, raw, error) from None
    if unknown:
        _report_unknown(request, resource, unknown, validation)
    return decoded


def _decode_failure(
    resource: Resource, value: Object, raw: bytes, error: DecodeError
) -> StatusError:
    """Decode once more from exact numbers, so that the message shows them as they were sent."""
    try:
        exact = parse_json_exactly(raw)
        decoder(resource.struct)(exact, [])
    except DecodeError as exact_error:
        error = exact_error
    except ValueError:
        pass  # YAML: the numbers at hand are the exact ones
    return bad_request(
        f'{resource.kind} in version "{resource.group_version.version}" cannot be handled as a'
        f" {resource.kind}: {error}"
    )


def _report_unknown(
    request: Request, resource: Resource, unknown: list[str], validation: str
) -> None:
    if validation == "Ignore":
        return
    found = [f'unknown field "{path}"' for path in sorted(unknown)]
    if validation == "Strict":
        listed = ", ".join(found[:MOST_STRICT_ERRORS])
        raise bad_request(
            f'{resource.kind} in version "{resource.group_version.version}" cannot be handled as a'
            f" {resource.kind}: strict decoding error: {listed}"
        )
    for text in found:
        request.warn(text)
