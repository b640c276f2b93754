"""Encodes and decodes values in the reference's format: built-in kinds are protobuf messages in its
envelope; definitions, API services and custom objects are JSON. Reads both forms, in every version
that the reference ever stored and that can still be converted to ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import orjson

from fairlead.codec.bodies import STORED_DEPTH, TooDeep, bounded_json
from fairlead.codec.protobuf import (
    EMPTY_TAIL,
    MAGIC,
    ProtobufError,
    envelope,
    envelope_head,
    from_message,
    writer,
)
from fairlead.codec.protobuf_wire import varint
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object
from fairlead.resources.apps.stateful_sets import set_claim_types
from fairlead.resources.etcd_format.old_versions import Adapt, former_version
from fairlead.resources.registry import Resource, Resources, to_stored
from fairlead.storage.encryption.keyring import SEALED, Sealed
from fairlead.storage.version import ordered

# Groups of the reference's extension servers, which write JSON.
_AS_JSON = ("apiextensions", "apiregistration")
_STATEFUL_SETS = "apps/v1/statefulsets"
_DEFINITIONS = "apiextensions/v1/customresourcedefinitions"


class InterchangeError(ValueError):
    """A value that cannot be read or written; the message names the object."""


class _Form:
    """The codec of a built-in kind in one version."""

    def __init__(self, resource: Resource, api_version: str, adapt: Adapt | None = None) -> None:
        self._resource = resource
        self._adapt = adapt
        self.kind = resource.kind
        self._type = {"kind": resource.kind, "apiVersion": api_version}
        self._opening = envelope_head(api_version, resource.kind)
        self._is_json = resource.group_version.short in _AS_JSON
        self._has_claims = resource.key == _STATEFUL_SETS

    @cached_property
    def _write(self) -> Callable[[Any], bytes]:
        return writer(self._resource.struct)

    def encode(self, value: bytes) -> bytes:
        if self._is_json:
            return _as_json(value, self._type["kind"], self._type["apiVersion"])
        body = self._write(orjson.loads(value))
        return b"%b%b%b%b" % (self._opening, varint(len(body)), body, EMPTY_TAIL)

    def decode(self, content: bytes | Object) -> Object:
        """The object of a message or of parsed JSON, in our stored version; unknown fields are
        dropped."""
        resource = self._resource
        if isinstance(content, dict):
            value = content
        elif self._is_json:
            raise ProtobufError("is kept as JSON only")
        else:
            value = from_message(resource.struct, content)
        if self._adapt is not None:
            value = self._adapt(value, resource.dialect)
        stored = to_stored(resource, decoder(resource.struct)(value, []))
        fill_defaults(resource.stored_struct, stored)
        if self._has_claims:  # messages do not carry the kind of nested objects
            set_claim_types(stored["spec"])
        return stored


class ReferenceCodec:
    """Converts between our rows (see `storage.version.encode` for their values) and the reference's
    values. Must be made before `--runtime-config` disables resources.

    The kinds of custom resources are learned from the definitions that are encoded or decoded. A
    definition must come before the first object of its kind is encoded.
    """

    def __init__(self, resources: Resources) -> None:
        builtin = resources.stored()
        self._layout = Layout(resources, builtin)
        self._forms: dict[tuple[str, str], _Form] = {}  # by resource and apiVersion
        # The stored apiVersion of every built-in resource.
        self._stored_versions = {
            resources.stored_as(resource): resource.api_version for resource in builtin
        }
        for group_version in resources.group_versions():
            for resource in group_version.resources.values():
                if "delete" in resource.verbs:
                    self._register(resources.stored_as(resource), resource)
        self._definitions = resources.stored_as(resources.named(_DEFINITIONS))
        self._metadata = resources.types.struct("meta/v1.ObjectMeta")
        self._custom_kinds: dict[str, str] = {}

    def _register(self, name: str, resource: Resource) -> None:
        self._forms[name, resource.api_version] = _Form(resource, resource.api_version)
        if former := former_version(resource.key, resource.dialect):
            api_version, adapt = former
            self._forms[name, api_version] = _Form(resource, api_version, adapt)

    def path(self, resource: str, key: str) -> str:
        """The path of an object below the prefix; with an empty key, of all objects of a
        resource."""
        return self._layout.path(resource, key)

    def location(self, path: str) -> tuple[str, str] | None:
        """The resource and key of a path; None if the path is not of an object that can be
        served."""
        return self._layout.location(path)

    def encode(self, resource: str, key: str, api_version: str, value: bytes) -> bytes:
        """The reference's value for a row; raises InterchangeError."""
        if resource in self._stored_versions:
            form = self._forms.get((resource, api_version))
            if form is None:
                raise _unknown(resource, key, api_version)
            if resource == self._definitions:
                self._record_kind(orjson.loads(value))
            return form.encode(value)
        if is_own(resource):
            return value
        kind = self._custom_kinds.get(resource)
        if kind is None:
            raise InterchangeError(f"{resource} {key}: no definition says of which kind it is")
        return _as_json(value, kind, api_version)

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        """The apiVersion and value of a row; raises InterchangeError or Sealed."""
        if is_own(resource):
            return "", raw
        try:
            api_version, value = self._read(resource, key, raw)
            if not value["metadata"].get("name"):
                raise InterchangeError(f"{resource} {key}: has no name")
            _complete(value["metadata"], key)
            if resource == self._definitions:
                self._record_kind(value)
            return api_version, bounded_json(ordered(value), STORED_DEPTH)
        except InterchangeError:
            raise
        except (ProtobufError, DecodeError, TooDeep, orjson.JSONDecodeError) as error:
            raise InterchangeError(f"{resource} {key}: {error}") from None
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            # The value has another shape than its kind.
            raise InterchangeError(f"{resource} {key}: is malformed") from None

    def form(self, resource: str, raw: bytes) -> bytes | None:
        return None

    def current_form(self, resource: str) -> bytes | None:
        return None

    async def prepare(self, resource: str, values: Sequence[bytes]) -> None:
        pass

    def _read(self, resource: str, key: str, raw: bytes) -> tuple[str, Object]:
        if raw.startswith(SEALED):
            raise Sealed(
                f"{resource} {key} is encrypted: start with --encryption-provider-config and the"
                " key that it was written with"
            )
        content: bytes | Object
        if raw.startswith(MAGIC):
            api_version, kind, content = envelope(raw)
        else:
            content = _parse(raw)
            api_version, kind = content.pop("apiVersion"), content.pop("kind")
            if resource not in self._stored_versions and is_custom(resource):
                content["metadata"] = decoder(self._metadata)(content["metadata"], [])
                return api_version, content
        form = self._forms.get((resource, api_version))
        if form is None or kind != form.kind:
            raise _unknown(resource, key, f"{api_version} {kind}")
        return self._stored_versions[resource], form.decode(content)

    def _record_kind(self, definition: Object) -> None:
        """Record the kind of a definition. An accepted kind cannot change."""
        spec = definition["spec"]
        accepted = (definition.get("status") or {}).get("acceptedNames") or {}
        kind = accepted.get("kind") or spec["names"]["kind"]
        self._custom_kinds[f"{spec['group']}/{spec['names']['plural']}"] = kind


def _complete(metadata: Object, key: str) -> None:
    """Set the metadata that a server always sets: the object may have been written to etcd by
    hand."""
    namespace, _, _ = key.rpartition("/")
    if namespace and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    metadata.setdefault("uid", "")
    metadata.setdefault("creationTimestamp", None)


def _parse(raw: bytes) -> Object:
    value: Object = orjson.loads(raw)
    return value


def _as_json(value: bytes, kind: str, api_version: str) -> bytes:
    return b'{"kind":"%b","apiVersion":"%b",%b' % (kind.encode(), api_version.encode(), value[1:])


def _unknown(resource: str, key: str, noun: str) -> InterchangeError:
    return InterchangeError(f"{resource} {key}: {noun} cannot be read by this release")


# Layout of the reference's keys below its prefix
#
# Built-in resources have a prefix of one or two words (`/pods/NAMESPACE/NAME`, `/services/specs/…`,
# see `path=` in `resources.table`), custom resources their group and plural. Other data of the
# reference is not handled here: the ranges of service addresses and ports (`/ranges/…`), which it
# recomputes from the services, and the leases of its servers (`/masterleases/…`). Data that only
# our servers store lies below `/fairlead/`.

# Our servers' data besides objects; the reference ignores it.
_OWN_PREFIX = "fairlead/"


def is_own(resource: str) -> bool:
    """Whether a resource is internal data outside the API, whose values are stored verbatim."""
    return resource.startswith(_OWN_PREFIX)


def is_custom(resource: str) -> bool:
    """Whether a resource that is not in the tables can be a custom resource: its group has a
    dot."""
    return "." in resource.partition("/")[0]


class Layout:
    """Maps the names in the store (`core/pods` and `NAMESPACE/NAME`) to paths and back."""

    def __init__(self, resources: Resources, builtin: Iterable[Resource]) -> None:
        self._prefixes: dict[str, str] = {}
        self._places: dict[str, tuple[str, int]] = {}  # resource, number of parts of keys
        for resource in builtin:
            stored_as = resources.stored_as(resource)
            self._prefixes[stored_as] = resource.storage_prefix
            self._places[resource.storage_prefix] = stored_as, 2 if resource.namespaced else 1

    def path(self, resource: str, key: str) -> str:
        return f"/{self._prefixes.get(resource, resource)}/{key}"

    def location(self, path: str) -> tuple[str, str] | None:
        """The resource and key of a path; None if the path is not of an object that can be
        served."""
        if not path.startswith("/"):
            return None
        top, _, key = path[1:].partition("/")
        entry = self._places.get(top)
        if entry is None:
            below, _, key = key.partition("/")
            top = f"{top}/{below}"
            entry = self._places.get(top)
        if entry is None:
            return self._other(top, key)
        resource, parts = entry
        return (resource, key) if key.count("/") + 1 == parts and _is_whole(key) else None

    def _other(self, resource: str, key: str) -> tuple[str, str] | None:
        if is_own(resource):
            return (resource, key) if _is_whole(key) else None
        if not is_custom(resource) or resource in self._prefixes:
            return None
        is_whole_key = _is_whole(resource) and _is_whole(key)
        return (resource, key) if key.count("/") <= 1 and is_whole_key else None


def _is_whole(key: str) -> bool:
    return all(key.split("/"))
