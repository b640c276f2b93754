"""From a request body to an object of the resource's type."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from fairlead.endpoints.negotiation import JSON, YAML, media_types
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, bad_request, too_large, unsupported_media_type
from fairlead.kinds.resources import Resource, Resources
from fairlead.schema.decode import DecodeError, decoder, unknown_paths
from fairlead.schema.remembering import ContentMemory
from fairlead.serialization.bodies import (
    BodyError,
    parse_json,
    parse_json_exactly,
    parse_yaml,
    summary,
)
from fairlead.serialization.duplicates import duplicate_fields
from fairlead.serialization.limits import (
    MOST_DECODED_BYTES,
    MOST_STORED_BYTES,
    TooDeep,
    TooLarge,
    check_stored,
)
from fairlead.serialization.protobuf import ProtobufError, envelope, from_message

Object = dict[str, Any]
T = TypeVar("T")

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
MOST_STRICT_ERRORS = 100

# Versions that are served no more but that data may still carry.
FORMER_VERSIONS = {
    "apps": ("v1beta1", "v1beta2"),
    "autoscaling": ("v2beta1",),
    "batch": ("v1beta1",),
    "extensions": ("v1beta1",),
    "policy": ("v1beta1",),
}


def body_format(request: Request, resources: Resources) -> str:
    """The media type of the body: JSON unless said otherwise; 415 for what we cannot read."""
    declared = request.header(b"content-type").partition(";")[0].strip()
    if declared in ("", JSON):
        return JSON
    if declared in (YAML, resources.dialect.protobuf_media_type):
        return declared
    raise unsupported_media_type(media_types(resources.dialect))


def parse_body(raw: bytes, media_type: str, resource: Resource) -> tuple[Object, list[str]]:
    """The parsed document, which must be an object, and what is said of keys it repeats."""
    if media_type not in (JSON, YAML):
        return _parse_message(raw, resource), []
    try:
        if media_type == JSON:
            value = parse_json(raw)
            repeated = [f'duplicate field "{path}"' for path in duplicate_fields(raw, value)]
        else:
            value, repeated = parse_yaml(raw)
        if not isinstance(value, dict):
            raise BodyError(_not_an_object(value))
        _check_type_meta(value)
    except (BodyError, TooDeep) as error:
        what = f"couldn't get version/kind; json parse error: {error}"
        if str(error).startswith("yaml:"):
            what = str(error)
        raise _unrecognized(resource, what, raw) from None
    return value, repeated


LONG_BODY = 256 * 1024  # bytes; more than that are not read on the loop


async def aside(raw: bytes, work: Callable[[], T]) -> T:
    """Do something with a body: in a thread if it is long, so that nobody else waits for it."""
    return work() if len(raw) <= LONG_BODY else await asyncio.to_thread(work)


async def read_object(
    request: Request,
    resources: Resources,
    resource: Resource,
    raw: bytes,
    media_type: str,
    validation: str,
) -> Object:
    """The object that a body holds, of the kind that the URL names."""

    def read() -> Object:
        parsed, repeated = parse_body(raw, media_type, resource)
        check_kind(resources, resource, parsed)
        value = decode_object(request, resource, parsed, raw, validation, repeated)
        if len(raw) > LONG_BODY:
            check_size(value, MOST_DECODED_BYTES)
        return value

    return await aside(raw, read)


def check_size(value: Object, most: int = MOST_STORED_BYTES) -> None:
    """Refuse an object that is too large or too deep to be kept."""
    try:
        check_stored(value, most)
    except TooLarge:
        raise too_large(most) from None
    except TooDeep as error:
        raise bad_request(str(error)) from None


def _unrecognized(resource: Resource, why: str, raw: bytes) -> StatusError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {why}"
        f" ({summary(raw)})"
    )


def _parse_message(raw: bytes, resource: Resource) -> Object:
    try:
        api_version, kind, content = envelope(raw)
        value = from_message(resource.struct, content) if kind == resource.kind else {}
    except ProtobufError as error:
        raise _unrecognized(resource, str(error), raw) from None
    return {"apiVersion": api_version, "kind": kind, **value}


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
    own_group, group = own_version.rpartition("/")[0], api_version.rpartition("/")[0]
    known = resources.struct_of(api_version, kind)
    if kind == resource.kind and group == own_group:
        version = api_version.rpartition("/")[2]
        if known is not None or version in FORMER_VERSIONS.get(group, ()):
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API"
                f" version ({own_version})"
            )
    if known is None or not known.is_kind:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
    else:
        version = known.group_version.partition("/")[2]
        short = resource.body_version.partition("/")[0]
        why = f"converting ({version}.{kind}) to ({short}.{resource.kind}): unknown conversion"
    where = f'{kind} in version "{api_version.rpartition("/")[2]}"'
    raise bad_request(f"{where} cannot be handled as a {resource.kind}: {why}")


def _body_api_version(resources: Resources, resource: Resource) -> str:
    if resource.body_version == resource.group_version.table_name:
        return resource.api_version
    return resources.api_version_of(resource.body_version)


def decode_object(
    request: Request,
    resource: Resource,
    value: Object,
    raw: bytes,
    validation: str,
    repeated: list[str],
) -> Object:
    """The decoded object without kind and apiVersion; unknown and repeated fields are dropped,
    warned of or refused as `validation` says."""
    value.pop("kind", None)
    value.pop("apiVersion", None)
    unknown: list[str] = []
    try:
        if resource.known_specs is not None and isinstance(value.get("spec"), dict):
            decoded = _decode_templated(resource, resource.known_specs, value, unknown)
        else:
            decoded = decoder(resource.struct)(value, unknown)
    except DecodeError as error:
        raise _decode_failure(resource, raw, error) from None
    if unknown or repeated:
        found = strict_errors(unknown_paths(resource.struct, value) if unknown else [], repeated)
        if validation == "Strict":
            raise _not_handled(resource, f"strict decoding error: {', '.join(found)}")
        warn_of(request, found, validation)
    return decoded


def _decode_templated(
    resource: Resource, known_specs: ContentMemory[bytes], value: Object, unknown: list[str]
) -> Object:
    """Decode an object whose spec many others share: a spec that was decoded before is read from
    the bytes it came to."""
    key = known_specs.key(value["spec"])
    known = known_specs.get(key)
    if known is None:
        decoded: Object = decoder(resource.struct)(value, unknown)
        if not unknown:
            known_specs.keep(key, orjson.dumps(decoded["spec"]))
        return decoded
    rest = {name: item for name, item in value.items() if name != "spec"}
    decoded = decoder(resource.struct)(rest, unknown)
    decoded["spec"] = orjson.loads(known)
    return decoded


def strict_errors(unknown: list[str], repeated: list[str]) -> list[str]:
    found = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
    return list(dict.fromkeys(found))[:MOST_STRICT_ERRORS]


def warn_of(request: Request, found: list[str], validation: str) -> None:
    if validation == "Warn":
        for text in found:
            request.warn(text)


def _decode_failure(resource: Resource, raw: bytes, error: DecodeError) -> StatusError:
    """Decode once more from exact numbers, so that the message shows them as they were sent. A
    long body is not worth it."""
    if len(raw) > LONG_BODY:
        return _not_handled(resource, str(error))
    try:
        decoder(resource.struct)(parse_json_exactly(raw), [])
    except DecodeError as exact_error:
        error = exact_error
    except ValueError:
        pass  # YAML: the numbers at hand are the exact ones
    return _not_handled(resource, str(error))


def _not_handled(resource: Resource, why: str) -> StatusError:
    return bad_request(
        f'{resource.kind} in version "{resource.group_version.version}" cannot be handled as a'
        f" {resource.kind}: {why}"
    )
