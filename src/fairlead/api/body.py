"""Decodes a request body into an object of the resource's type."""

from __future__ import annotations

from typing import Final

import orjson

from fairlead.api.dialect_hint import with_hint
from fairlead.api.negotiation import JSON, YAML, declared_type, media_types
from fairlead.api.request import Request
from fairlead.base import meter
from fairlead.base.errors import StatusError, bad_request, unsupported_media_type
from fairlead.codec import strict_decoding
from fairlead.codec.bodies import (
    BodyError,
    TooDeep,
    check_values,
    duplicate_fields,
    not_an_object,
    parse_json,
    parse_json_exactly,
    parse_yaml,
    summary,
)
from fairlead.codec.protobuf import (
    ProtobufError,
    content_type,
    decoded_message,
    envelope,
    fast_envelope,
    from_message,
)
from fairlead.codec.types.decode import (
    decode_counting,
    decoder,
    first_unreadable,
    unknown_paths,
    unknown_paths_of_custom,
)
from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.mismatch import DecodeError, json_kind
from fairlead.codec.types.model import recurs
from fairlead.codec.types.scalars import UNCOUNTED
from fairlead.operations import foreign_kinds
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.write_pipeline import (
    check_decoded,
    check_required,
    custom_type_error,
    strict_errors,
    warn_of,
)
from fairlead.resources.registry import Resource, Resources

_TYPE: Final[tuple[str, ...]] = ("kind", "apiVersion")
_MAX_READ_TWICE: Final = 256 * 1024  # bytes


def body_format(request: Request, resources: Resources) -> str:
    """The media type of the body, JSON by default; raises 415 for unsupported types."""
    declared = declared_type(request.header(b"content-type"))
    if declared in ("", JSON):
        return JSON
    if declared in (YAML, resources.dialect.protobuf_media_type):
        return declared
    dialect = resources.dialect
    raise with_hint(dialect, declared, unsupported_media_type(media_types(dialect)))


def parse_body(raw: bytes, media_type: str, resource: Resource) -> tuple[Object, list[str] | None]:
    """Parse the body, which must hold an object. Also returns errors about duplicate keys; None if
    they are detected later with help of the decoder, see `_repeated`."""
    if media_type not in (JSON, YAML):
        return _parse_message(raw, resource)
    repeated: list[str] | None = None
    try:
        if media_type == JSON:
            check_values(raw)
            value = parse_json(raw)
            if resource.lacks_protobuf or recurs(resource.struct):  # may be nested deeply
                repeated = _duplicate_errors(duplicate_fields(raw, value))
        else:
            value, repeated = parse_yaml(raw)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise BodyError(not_an_object(value))
        _check_type_meta(value)
    except (BodyError, TooDeep) as error:
        raise _unreadable(resource, error, raw) from None
    return value, repeated


def _repeated(resource: Resource, raw: bytes, parsed: Object, texts: int = UNCOUNTED) -> list[str]:
    """Errors about duplicate keys in JSON. `texts` is the number of strings in the document, if the
    decoder has counted them. Raises 400 for a body that is nested too deeply."""
    try:
        return _duplicate_errors(duplicate_fields(raw, parsed, texts))
    except TooDeep as error:
        raise _unreadable(resource, error, raw) from None


def _duplicate_errors(repeated: list[str]) -> list[str]:
    return [f'duplicate field "{path}"' for path in repeated]


def _unreadable(resource: Resource, error: BodyError | TooDeep, raw: bytes) -> StatusError:
    message = f"couldn't get version/kind; json parse error: {error}"
    if str(error).startswith("yaml:"):
        message = str(error)
    return _unrecognized(resource, message, raw)


def _unrecognized(resource: Resource, reason: str, raw: bytes) -> StatusError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {reason}"
        f" ({summary(raw)})"
    )


def _parse_message(raw: bytes, resource: Resource) -> tuple[Object, list[str]]:
    """Decode a protobuf envelope whose content is a message or, if its content type says so,
    JSON."""
    repeated: list[str] | None = []
    try:
        api_version, kind, content = envelope(raw)
        form = content_type(raw)
        if form == JSON:
            value, repeated = parse_body(content, JSON, resource)
            if repeated is None:
                repeated = _repeated(resource, content, value)
        elif form not in ("", resource.dialect.protobuf_media_type):
            raise ProtobufError(f'the content type "{form}" is not known')
        else:
            is_own = kind in ("", resource.kind)
            value = from_message(resource.struct, content) if is_own else {}
    except ProtobufError as error:
        raise _unrecognized(resource, str(error), raw) from None
    return {"apiVersion": api_version, "kind": kind, **value}, repeated or []


def _check_type_meta(value: Object) -> None:
    for name in ("apiVersion", "kind"):
        field = value.get(name)
        if field is not None and not isinstance(field, str):
            raise BodyError(
                f"json: cannot unmarshal {json_kind(field)} into Go struct field .{name}"
                " of type string"
            )


def check_kind(resources: Resources, resource: Resource, value: Object, raw: bytes) -> None:
    """Check that kind and apiVersion of the body, if present, match the URL."""
    kind = value.get("kind") or resource.kind
    own_version = _body_api_version(resources, resource)
    api_version = value.get("apiVersion") or own_version
    if kind == resource.kind and api_version == own_version:
        return
    api_version = _normalized_version(resource, api_version, raw)
    own_group = own_version.rpartition("/")[0]
    if not api_version or api_version == f"{own_group}/":
        api_version = own_version
    if kind == resource.kind and api_version == own_version:
        return
    if api_version[-1] == "/":
        message = f"Object 'apiVersion' is missing in '{raw.decode('utf-8', 'replace')}'"
        raise bad_request(f'{kind} in version "" cannot be handled as a {resource.kind}: {message}')
    if foreign_kinds.is_same_kind(resources, resource, own_group, api_version, kind):
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API"
            f" version ({own_version})"
        )
    reason = foreign_kinds.foreign_kind(resources, resource, api_version, kind)
    document = f'{kind} in version "{api_version.rpartition("/")[2]}"'
    raise bad_request(f"{document} cannot be handled as a {resource.kind}: {reason}")


def _normalized_version(resource: Resource, api_version: str, raw: bytes) -> str:
    """The normalized apiVersion of a body: the core group may be written with an empty group
    (`/v1`)."""
    if api_version.count("/") > 1:
        raise _unrecognized(resource, f"unexpected GroupVersion string: {api_version}", raw)
    return api_version.removeprefix("/")


def _check_custom_kind(resource: Resource, value: Object, raw: bytes) -> None:
    """Check kind and apiVersion of a custom object, both of which are required."""
    if not value.get("kind"):
        message = f"Object 'Kind' is missing in '{raw.decode('utf-8', 'replace')}'"
        raise _unrecognized(resource, message, raw)
    api_version = value.get("apiVersion") or ""
    if api_version != resource.api_version:
        api_version = _normalized_version(resource, api_version, raw)
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version"
            f" ({resource.api_version})"
        )


def _body_api_version(resources: Resources, resource: Resource) -> str:
    if resource.body_version == resource.group_version.table_name:
        return resource.api_version
    return resources.api_version_of(resource.body_version)


class ObjectBody:
    """A request body with an object of the operation's type. The apiVersion `former` is accepted as
    the same type. `validation` decides whether unknown and duplicate fields are dropped, reported
    as warnings or refused."""

    def __init__(
        self,
        api: Api,
        operation: Operation,
        raw: bytes,
        media_type: str,
        validation: str,
        former: str = "",
    ) -> None:
        self._api = api
        self._operation = operation
        self._raw = raw
        self._media_type = media_type
        self._validation = validation
        self._former = former

    def decode(self) -> Object:
        """Return the object without kind and apiVersion."""
        api, operation, raw, media_type = self._api, self._operation, self._raw, self._media_type
        resource = operation.resource
        if resource.lacks_protobuf and media_type not in (JSON, YAML):
            raise unsupported_media_type((JSON, YAML))
        value: Object | None = None
        if media_type not in (JSON, YAML):
            value = _decode_message(api, resource, raw)
        if value is None:
            value = self._decode_text()
        metadata = value.get("metadata")
        if metadata:
            name_and_uid = metadata.get("name", ""), metadata.get("uid", "")
            operation.identity = (*name_and_uid, metadata.get("resourceVersion", ""))
        if len(raw) > meter.MAX_BYTES_ON_LOOP:
            check_decoded(value)
        return value

    def _decode_text(self) -> Object:
        api, operation, raw, media_type = self._api, self._operation, self._raw, self._media_type
        resource, former = operation.resource, self._former
        parsed, repeated = parse_body(raw, media_type, resource)
        try:
            is_former = bool(former) and parsed.get("apiVersion") == former
            _check_kind(api, operation, {**parsed, "apiVersion": ""} if is_former else parsed, raw)
            return _decode_object(
                api, operation, parsed, raw, media_type, self._validation, repeated
            )
        except StatusError:
            if repeated is None:
                _repeated(resource, raw, parsed)  # nested too deeply: that error comes first
            raise


def _check_kind(api: Api, operation: Operation, value: Object, raw: bytes) -> None:
    resource = operation.resource
    if resource.lacks_protobuf:
        _check_custom_kind(resource, value, raw)
        operation.refusal = custom_type_error(resource, value)
    else:
        check_kind(api.resources, resource, value, raw)


def _decode_message(api: Api, resource: Resource, raw: bytes) -> Object | None:
    """Fast path: decode a protobuf message directly. None if its envelope is unusual, or if the
    dialect must know which fields the message lacks."""
    if resource.dialect.required_fields_refused:
        return None
    try:
        parts = fast_envelope(raw)
    except ValueError:
        return None
    if parts is None:
        return None
    api_version, kind, content = parts
    if kind != resource.kind or api_version != _body_api_version(api.resources, resource):
        return None
    return decoded_message(resource.struct, content)


def _decode_object(
    api: Api,
    operation: Operation,
    parsed: Object,
    raw: bytes,
    media_type: str,
    validation: str,
    repeated: list[str] | None,
) -> Object:
    resource = operation.resource
    value = {name: item for name, item in parsed.items() if name not in _TYPE}
    unknown: list[str] = []
    try:
        if resource.known_specs is not None and isinstance(value.get("spec"), dict):
            decoded, texts = _decode_templated(resource, resource.known_specs, value, unknown)
        else:
            decoded, texts = decode_counting(resource.struct, value, unknown)
    except DecodeError as error:
        raise _decode_failure(api, resource, raw, error) from None
    if repeated is None:
        if texts != UNCOUNTED:
            texts += sum([2 if parsed[name] is not None else 1 for name in _TYPE if name in parsed])
        repeated = _repeated(resource, raw, parsed, texts)
    if unknown or repeated:
        operation.has_unknown_fields = bool(unknown)
        if repeated and media_type == JSON and not resource.lacks_protobuf:
            repeated, paths = strict_decoding.strict_problems(raw, resource.struct), []
        else:
            paths = _unknown_paths(resource, value, media_type) if unknown else []
        if validation == "Strict" and (paths or repeated):
            errors = strict_errors(paths, _as_one_error(repeated))
            raise _not_handled(resource, f"strict decoding error: {', '.join(errors)}")
        warn_of(operation, strict_errors(paths, repeated), validation)
    if resource.dialect.required_fields_refused:
        check_required(resource, value, in_message=media_type not in (JSON, YAML))
    return decoded


def _unknown_paths(resource: Resource, value: Object, media_type: str) -> list[str]:
    """Paths of unknown fields in document order; YAML is first converted to JSON with sorted
    keys."""
    if resource.lacks_protobuf:
        return unknown_paths_of_custom(resource.struct, value)
    return unknown_paths(resource.struct, value, sort_keys=media_type == YAML)


def _as_one_error(repeated: list[str]) -> list[str]:
    """Join the lines of the YAML parser into one error, as the reference reports them."""
    if not repeated or not repeated[0].startswith("line "):
        return repeated
    return ["\n  ".join(["yaml: unmarshal errors:", *repeated])]


def _decode_templated(
    resource: Resource, known_specs: ContentCache[bytes], value: Object, unknown: list[str]
) -> tuple[Object, int]:
    """Decode an object of a kind whose specs are often identical: a spec seen before is loaded from
    its cached decoded bytes. Also returns the number of strings, see `decode_counting`."""
    decoded: Object
    key = known_specs.key(value["spec"])
    cached = known_specs.get(key)
    if cached is None:
        decoded, texts = decode_counting(resource.struct, value, unknown)
        if key is not None and not unknown:
            known_specs.keep(key, orjson.dumps(decoded["spec"]))
        return decoded, texts
    remaining = {name: item for name, item in value.items() if name != "spec"}
    decoded = decoder(resource.struct)(remaining, unknown)
    decoded["spec"] = orjson.loads(cached)
    return decoded, UNCOUNTED


def _decode_failure(api: Api, resource: Resource, raw: bytes, error: DecodeError) -> StatusError:
    """The error for a body that cannot be decoded. Decodes again with exact numbers, so that the
    message shows them as sent, and prefers an error that occurs earlier in the document. Skipped
    for bodies over 256 KiB."""
    if len(raw) > _MAX_READ_TWICE:
        return _not_handled(resource, _reason(api, resource, error))
    try:
        exact = parse_json_exactly(raw)
        decoder(resource.struct)(exact, [])
    except DecodeError as exact_error:
        error = first_unreadable(resource.struct, exact) or exact_error
    except ValueError:
        pass  # YAML: the parsed numbers are exact already
    return _not_handled(resource, _reason(api, resource, error))


def _reason(api: Api, resource: Resource, error: DecodeError) -> str:
    error.name_by(resource.group_version.table_name)
    return error.with_whole_path if api.gates["DecodeErrorsWithWholePath"] else str(error)


def _not_handled(resource: Resource, reason: str) -> StatusError:
    return bad_request(
        f'{resource.kind} in version "{resource.group_version.version}" cannot be handled as a'
        f" {resource.kind}: {reason}"
    )
