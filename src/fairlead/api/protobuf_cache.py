"""Protobuf messages of stored objects, encoded once per version and cached with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from fairlead.api.negotiation import Representation
from fairlead.codec.protobuf import CONTENT, enveloped, enveloped_field, writer
from fairlead.codec.protobuf_wire import BYTES, delimited, key, long_varint, sized_end, varint
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.registry import Resource, from_stored
from fairlead.storage.derived_cache import FORMS
from fairlead.storage.version import Version

_OWN_BYTES = 50  # memory overhead of a cached message
_METADATA_KEY = key(1, BYTES)  # field 1 of every kind


def is_binary(resource: Resource, representation: Representation) -> bool:
    return representation.media_type == resource.dialect.protobuf_media_type


def message_fields(
    resource: Resource, representation: Representation, versions: Iterable[Version]
) -> Iterator[bytes]:
    """Encode stored objects as fields of their list. The field number of list items equals that of
    the content in an envelope, so both use the same cached bytes."""
    if representation.transform:
        for version in versions:
            yield delimited(CONTENT, _metadata(resource, version))
    else:
        for version, cached in FORMS.each(versions, resource.struct):
            yield cached or _message_field(resource, version)


def enveloped_message(
    resource: Resource,
    representation: Representation,
    version: Version,
    content: Object | None = None,
) -> bytes:
    """Encode a stored object, or its metadata, with an envelope. `content` is the decoded object,
    if the caller has it, which saves decoding the version."""
    if not representation.transform:
        message = _message_field(resource, version, content)
        return enveloped_field(resource.api_version, resource.kind, message)
    api_version = f"{resource.dialect.meta_group}/{representation.version}"
    return enveloped(api_version, "PartialObjectMetadata", _metadata(resource, version))


def _message_field(resource: Resource, version: Version, content: Object | None = None) -> bytes:
    """The message of an object as a field with its key and length."""
    # Cached by type: equal types have equal messages.
    field: bytes | None = FORMS.get(version, resource.struct)
    if field is None:
        if content is not None and resource.sends_stored_bytes:
            value = _at_revision(content, version.revision)
        else:
            value = from_stored(resource, version.object_to_write())
        message = writer(resource.struct)(value)
        field = b"".join((CONTENT, varint(len(message)), message))
        FORMS.keep(version, resource.struct, field, len(field) + _OWN_BYTES)
    return field


def _at_revision(content: Object, revision: int) -> Object:
    metadata = {**content["metadata"], "resourceVersion": str(revision)}
    return {**content, "metadata": metadata}


def _metadata(resource: Resource, version: Version) -> bytes:
    """A message that holds the metadata only, which is the first field of every message."""
    if resource.sends_stored_bytes:
        message = FORMS.get(version, resource.struct)
    else:
        message = _message_field(resource, version)
    if message is not None:
        _, start = long_varint(message, len(CONTENT))
        metadata: bytes = message[start : sized_end(message, start + len(_METADATA_KEY))]
        return metadata
    struct: Any = resource.struct.fields["metadata"].type
    field: bytes | None = FORMS.get(version, struct)
    if field is None:
        assert isinstance(struct, Struct)
        field = delimited(_METADATA_KEY, writer(struct)(orjson.loads(version.metadata)))
        FORMS.keep(version, struct, field, len(field) + _OWN_BYTES)
    return field
