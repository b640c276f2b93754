"""PATCH of an item: JSON patch, merge patch, strategic merge patch and apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.create import store_new
from fairlead.endpoints.decoding import check_required, strict_errors, warn_of
from fairlead.endpoints.parameters import WriteOptions, write_options
from fairlead.endpoints.representing import item_answer, typed
from fairlead.endpoints.request import Request
from fairlead.endpoints.subjects import Subject, subject_of
from fairlead.endpoints.tracking import ignored_fields, set_entries, versions_of
from fairlead.endpoints.update import Changed, check_name, store_changed
from fairlead.errors import Cause, ResourceRef, StatusError, bad_request, invalid, not_found
from fairlead.kinds.causes import Causes
from fairlead.kinds.resources import Resource
from fairlead.patching.conflicts import ApplyConflict, BadConfiguration, InvalidConfiguration
from fairlead.patching.entries import entries_of
from fairlead.patching.errors import (
    MalformedPatch,
    OperationFailed,
    TooManyOperations,
    UnsupportedPatch,
)
from fairlead.patching.json_patch import apply_json_patch, operations
from fairlead.patching.merge_patch import apply_merge_patch, merge_document
from fairlead.patching.ownership import apply
from fairlead.patching.strategic import apply_strategic_patch, strategic_document
from fairlead.schema.decode import decoder, unknown_paths
from fairlead.schema.mismatch import DecodeError, conversion_error, json_kind
from fairlead.schema.times import now
from fairlead.serialization.bodies import BodyError, parse_json, parse_yaml
from fairlead.serialization.duplicates import TooDeep, duplicate_fields
from fairlead.storage.entry import Entry

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)


@dataclass(slots=True)
class Patch:
    """A patch that was read: what it does to a document, how messages show it, and the repeated
    keys in it."""

    apply: Callable[[Object], Object]
    shown: str
    repeated: list[str]
    explain: Callable[[DecodeError], str] = str


async def patch(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    media_type = request.header(b"content-type").partition(";")[0].strip()
    if media_type not in TYPES:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    raw = await request.body()
    is_apply = media_type == APPLY
    options = write_options(api.dialect, request, "PatchOptions", apply=is_apply)
    if is_apply:
        return await _apply(api, request, resource, raw, options)
    kept = resource.parent or resource
    key = kept.storage_key(request.target.namespace, request.target.name)
    if api.store.latest(api.collection(kept), key) is None:
        raise not_found(ResourceRef(kept.group, kept.name, request.target.name))
    read = _read(resource, media_type, raw)
    subject = subject_of(api, resource)

    def change(old: Object) -> Changed:
        value = _patched(api, request, subject, read, old, options)
        return Changed(subject.write(old, value))

    entry = await store_changed(api, request, resource, change, options)
    return subject.answer(request, entry)


def _read(resource: Resource, media_type: str, raw: bytes) -> Patch:
    """Read a patch document; 400 for what is not one."""
    prefix = "" if media_type == STRATEGIC else "error decoding patch: "
    try:
        document = parse_json(raw)
        repeated = duplicate_fields(raw, document)
    except (BodyError, TooDeep) as error:
        raise bad_request(f"{prefix}{error}") from None
    try:
        match media_type:
            case "application/json-patch+json":
                found = operations(document)
                named = [f'json patch duplicate field "{path}"' for path in repeated]
                named += _unknown_members(found)
                return Patch(lambda value: apply_json_patch(value, found), raw.decode(), named)
            case "application/merge-patch+json":
                merge = merge_document(document)
                make: Callable[[Object], Object] = lambda value: apply_merge_patch(value, merge)  # noqa: E731
            case _:
                merge = strategic_document(document)
                make = lambda value: apply_strategic_patch(resource.struct, value, merge)  # noqa: E731
    except MalformedPatch as error:
        raise bad_request(str(error)) from None
    except TooManyOperations as error:
        raise StatusError(413, "RequestEntityTooLarge", str(error)) from None
    explain = conversion_error if media_type == STRATEGIC else str
    named = [f'duplicate field "{path}"' for path in repeated]
    return Patch(make, go_text(merge), named, explain)


def _unknown_members(found: list[Object]) -> list[str]:
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(found)
        for name in operation
        if name not in ("op", "path", "from", "value")
    ]


def go_text(value: Any) -> str:
    """A value as the reference prints decoded patches in messages."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _patched(
    api: Api, request: Request, subject: Subject, read: Patch, old: Object, options: WriteOptions
) -> Object:
    """The object after the patch, decoded and checked to be the one that the URL names."""
    try:
        document = read.apply(subject.read(old))
    except OperationFailed:
        raise StatusError(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
            details={},
        ) from None
    except MalformedPatch as error:
        raise bad_request(str(error)) from None
    except UnsupportedPatch as error:
        raise bad_request(str(error)) from None
    value = _decoded(api, request, subject, read, document, options)
    check_name(request.target.name, value["metadata"])
    writing.set_namespace(request, subject.kept, value["metadata"])
    return value


def _decoded(
    api: Api,
    request: Request,
    subject: Subject,
    read: Patch,
    document: Object,
    options: WriteOptions,
) -> Object:
    document = dict(document)
    if not document.get("apiVersion"):
        _refuse_nameless(api, request, read, document, options)
    wanted = {"kind": subject.kind, "apiVersion": subject.api_version}
    for name, expected in wanted.items():
        if (document.pop(name, None) or expected) != expected:
            raise _refused(api, read, f"the {name} of the object may not change", strict=False)
    unknown: list[str] = []
    try:
        value: Object = decoder(subject.struct)(document, unknown)
    except DecodeError as error:
        strict = bool(read.repeated or unknown_paths(subject.struct, document))
        raise _refused(api, read, read.explain(error), strict=strict) from None
    if unknown or read.repeated:
        request.has_unknown_fields = bool(unknown)
        paths = unknown_paths(subject.struct, document) if unknown else []
        found = strict_errors(paths, read.repeated)
        if options.validation == "Strict":
            raise _refused(api, read, f"strict decoding error: {', '.join(found)}", strict=True)
        warn_of(request, found, options.validation)
    if api.dialect.required_fields_refused:
        check_required(subject.resource, document)
    return value


def _refuse_nameless(
    api: Api, request: Request, read: Patch, document: Object, options: WriteOptions
) -> None:
    """Without its version nothing of a document is understood, its name neither."""
    fields = sorted(name for name in document if name not in ("kind", "apiVersion"))
    found = strict_errors(fields, read.repeated)
    if found and options.validation == "Strict":
        raise _refused(api, read, f"strict decoding error: {', '.join(found)}", strict=True)
    warn_of(request, found, options.validation)
    check_name(request.target.name, {})


def _refused(api: Api, read: Patch, why: str, *, strict: bool) -> StatusError:
    """A patch whose result is not an object of the type. The specification wants 400 where unknown
    or repeated fields are part of it."""
    if strict and api.dialect.strict_patch_bad_request:
        return bad_request(why)
    causes = Causes()
    causes.invalid("patch", read.shown, why)
    return invalid(ResourceRef("", ""), causes)


async def _apply(
    api: Api, request: Request, resource: Resource, raw: bytes, options: WriteOptions
) -> Answer:
    subject = subject_of(api, resource)
    kept = subject.kept
    key = kept.storage_key(request.target.namespace, request.target.name)
    current = api.store.latest(api.collection(kept), key)
    question = (resource.key, key, options.manager, options.force, options.validation, raw)
    if current is not None and api.known_applies.changes_nothing(question, current):
        await api.store.settled(current)
        return subject.answer(request, current)
    config = _configuration(request, raw, options)
    kind = config.get("kind")
    if kind != subject.kind and kind:
        raise bad_request(f"the kind of the configuration is {kind}, expected {subject.kind}")
    if current is None:
        return await _create_by_apply(api, request, resource, config, options)
    entry = await _apply_to_existing(api, request, subject, config, options)
    if entry is current and not request.warnings and not options.dry_run:
        api.known_applies.remember(question, entry)
    return subject.answer(request, entry)


async def _apply_to_existing(
    api: Api, request: Request, subject: Subject, config: Object, options: WriteOptions
) -> Entry:
    resource, kept = subject.resource, subject.kept
    versions = versions_of(api, kept)
    whole = Subject(api, kept)
    config = subject.configuration(config)

    def change(old: Object) -> Changed:
        live = whole.read(old)
        merged, entries = _merged(api, versions, resource, live, config, options)
        if resource.is_scale and api.dialect.scale_untracked:
            entries = entries_of(live)
        if merged is live and entries is live["metadata"].get("managedFields", entries):
            return Changed(old, entries)
        value = _read_merged(request, whole, merged, config)
        return Changed(whole.write(old, value), entries)

    return await store_changed(api, request, resource, change, options)


def _configuration(request: Request, raw: bytes, options: WriteOptions) -> Object:
    try:
        value, repeated = parse_yaml(raw)
    except BodyError as error:
        what = f"error converting YAML to JSON: {error}"
        raise bad_request(f"error decoding YAML: {what}") from None
    if repeated:
        if options.validation == "Strict":
            listed = "\n  ".join(repeated)
            raise bad_request(
                "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal"
                f" errors:\n  {listed}"
            )
        warn_of(request, repeated, options.validation)
    if value is not None and not isinstance(value, dict):
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot"
            f" unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}"
        )
    return value or {}


def _merged(
    api: Api,
    versions: Any,
    resource: Resource,
    live: Object | None,
    config: Object,
    options: WriteOptions,
) -> tuple[Object, list[Object]]:
    try:
        return apply(
            versions,
            live,
            config,
            manager=options.manager,
            api_version=(resource.parent or resource).api_version,
            now=now(),
            dialect=api.dialect,
            subresource=resource.subresource,
            force=options.force,
            ignored=ignored_fields(resource),
        )
    except (BadConfiguration, InvalidConfiguration) as error:
        raise bad_request(str(error)) from None
    except ApplyConflict as error:
        if resource.is_scale:  # owners are told in the version of the Scale
            version = api.resources.api_version_of(resource.body_version)
            told = [replace(conflict, api_version=version) for conflict in error.conflicts]
            error = ApplyConflict(told)
        raise _conflict(error) from None


def _conflict(error: ApplyConflict) -> StatusError:
    causes = [
        Cause("FieldManagerConflict", conflict.message, conflict.field).as_dict()
        for conflict in error.conflicts
    ]
    return StatusError(409, "Conflict", str(error), details={"causes": causes})


def _read_merged(request: Request, subject: Subject, merged: Object, config: Object) -> Object:
    document = {name: item for name, item in merged.items() if name not in ("kind", "apiVersion")}
    try:
        value: Object = decoder(subject.struct)(document, [])
    except DecodeError as error:
        raise bad_request(str(error)) from None
    if subject.api.dialect.required_fields_refused:
        check_required(subject.resource, document)
    given = (config.get("metadata") or {}).get("name")
    check_name(request.target.name, {"name": given} if given else value["metadata"])
    writing.set_namespace(request, subject.kept, value["metadata"])
    return value


async def _create_by_apply(
    api: Api, request: Request, resource: Resource, config: Object, options: WriteOptions
) -> Answer:
    target = request.target
    if resource.parent is not None or "create" not in resource.verbs:
        kept = resource.parent or resource
        raise not_found(ResourceRef(kept.group, kept.name, target.name))
    await api.authorize_create(request)
    subject = subject_of(api, resource)
    merged, entries = _merged(api, versions_of(api, resource), resource, None, config, options)
    value = _read_merged(request, subject, typed(resource, merged), config)
    value["metadata"].pop("resourceVersion", None)
    stored = subject.write({}, value)
    set_entries(stored["metadata"], entries)
    entry = await store_new(api, request, resource, stored, options, entries)
    return item_answer(api.resources, request, resource, entry, 201)
