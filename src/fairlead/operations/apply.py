"""Server-side apply: merges a configuration into an object and tracks field ownership."""

from __future__ import annotations

from dataclasses import replace

from fairlead.base import budget
from fairlead.base.errors import Cause, StatusError, bad_request, conflict
from fairlead.codec.types.decode import known_part, unknown_paths
from fairlead.codec.types.json_numbers import plain
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.times import now
from fairlead.fields.conflicts import ApplyConflict, BadConfiguration, InvalidConfiguration
from fairlead.fields.entries import Versions, entries_of, entry, identity_of, updater
from fairlead.fields.field_sets import of
from fairlead.fields.ownership import BEFORE_FIRST_APPLY
from fairlead.fields.ownership import apply as merge_configuration
from fairlead.fields.values import copied
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import converting
from fairlead.operations.create import create
from fairlead.operations.managed_fields import (
    decode_beside,
    ignored_fields,
    owns_replicas,
    replicas_path,
    set_entries,
    versions_of,
    without_new_times,
)
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.update import Changed, Outcome, store_changed
from fairlead.operations.views import View, typed, view_of
from fairlead.operations.write_pipeline import check_required, strict_errors, warn_of
from fairlead.resources.causes import absent
from fairlead.resources.registry import Resource
from fairlead.storage.version import Version


async def apply(api: Api, operation: Operation, config: Object, options: WriteOptions) -> Outcome:
    """Merge a manager's configuration into the object; create the object if it does not exist."""
    operation.applies = True
    view = view_of(api, operation.resource)
    try:
        return await _apply(api, operation, view, config, options)
    except StatusError as error:
        if error.code != 400 or not api.dialect.apply_drops_unknown:
            raise
        refusal = error
    unknown = await budget.run(operation.size, unknown_paths, view.struct, config)
    if not unknown or options.validation == "Strict":
        raise refusal
    operation.has_unknown_fields = True
    warn_of(operation, strict_errors(unknown, []), options.validation)
    known_config = await budget.run(operation.size, known_part, view.struct, config)
    return await _apply(api, operation, view, known_config, options)


async def _apply(
    api: Api, operation: Operation, view: View, config: Object, options: WriteOptions
) -> Outcome:
    kind = config.get("kind")
    # A wrong apiVersion takes precedence over a wrong kind and is rejected later.
    if kind != view.kind and config.get("apiVersion") == view.api_version:
        if kind:
            raise bad_request(f"the kind of the configuration is {kind}, expected {view.kind}")
        raise bad_request(f"the configuration does not say its kind, expected {view.kind}")
    if api.store.latest(api.collection(operation.resource), operation.key) is None:
        try:
            return Outcome(await _create(api, operation, config, options), created=True)
        except StatusError as error:
            if error.reason != "AlreadyExists":  # another client created it first: change it
                raise
    return Outcome(await _change(api, operation, view, config, options))


async def _change(
    api: Api, operation: Operation, view: View, config: Object, options: WriteOptions
) -> Version:
    versions = versions_of(api, view.main)
    object_view = View(api, view.main)
    config = view.configuration(config)

    def change(old: Object) -> Changed:
        live = object_view.read(old)
        is_scale = operation.resource.is_scale
        is_untracked_scale = is_scale and api.dialect.scale_untracked
        is_tracked_scale = is_scale and not is_untracked_scale
        if is_tracked_scale and not owns_replicas(operation.resource, live):
            live = _with_first_entry(operation.resource, live)
        write_options = options
        if is_untracked_scale and not entries_of(live):  # no manager can conflict
            write_options = replace(options, force=True)
        merged, entries = _merged(api, versions, operation, live, config, write_options)
        if is_tracked_scale:
            entries = without_new_times(entries, old)
        elif is_untracked_scale:
            entries = _former_managers_only(entries, live)
        if merged is live and entries is live["metadata"].get("managedFields", entries):
            return Changed(copied(old), entries)
        value = _decoded(operation, object_view, merged, config, live)
        return Changed(object_view.write(old, value), entries)

    return await store_changed(api, operation, change, options)


def _former_managers_only(entries: list[Object], live: Object) -> list[Object]:
    """The entries of managers that the object had before. Applying to an untracked scale adds no
    entry, but fields taken by force are removed from the other managers."""
    identities = {identity_of(item) for item in entries_of(live)}
    return [item for item in entries if identity_of(item) in identities]


def _with_first_entry(resource: Resource, live: Object) -> Object:
    """Add an entry for the manager "before first apply" to an object whose replicas have no owner,
    before the first apply to its scale."""
    version = resource.main.api_version
    identity = updater(BEFORE_FIRST_APPLY, version, resource.subresource)
    first_entry = entry(identity, version, of(replicas_path(resource)), None)
    metadata = {**live["metadata"], "managedFields": [*entries_of(live), first_entry]}
    return {**live, "metadata": metadata}


def _merged(
    api: Api,
    versions: Versions,
    operation: Operation,
    live: Object | None,
    config: Object,
    options: WriteOptions,
) -> tuple[Object, list[Object]]:
    resource = operation.resource
    try:
        return merge_configuration(
            versions,
            live,
            config,
            manager=options.manager,
            api_version=resource.main.api_version,
            now=now(),
            dialect=api.dialect,
            subresource=resource.subresource,
            force=options.force,
            ignored=ignored_fields(resource),
        )
    except (BadConfiguration, InvalidConfiguration) as error:
        raise bad_request(str(error)) from None
    except ApplyConflict as raised:
        conflict_error = raised
        if resource.is_scale:  # messages name the version of the Scale
            version = api.resources.api_version_of(resource.body_version)
            conflict_error = ApplyConflict(
                replace(conflict, api_version=version) for conflict in raised.conflicts
            )
        raise _conflict(conflict_error) from None


def _conflict(error: ApplyConflict) -> StatusError:
    causes = [
        Cause("FieldManagerConflict", conflict.message, conflict.field).as_dict()
        for conflict in error.conflicts
    ]
    return StatusError(409, "Conflict", str(error), details={"causes": causes})


def _decoded(
    operation: Operation,
    view: View,
    merged: Object,
    config: Object,
    live: Object | None = None,
) -> Object:
    """Decode the merge of a configuration and the live object, if there is one."""
    document = {name: item for name, item in merged.items() if name not in ("kind", "apiVersion")}
    is_custom = view.main.custom is not None
    undecoded = {"metadata": document["metadata"]} if is_custom else document
    try:
        value = decode_beside(view.main, view.struct, undecoded, live or {}, [])
    except DecodeError as error:
        raise bad_request(str(error)) from None
    if is_custom:
        value = {**_unread(view, document, config), **value}
    if view.api.dialect.required_fields_refused:
        check_required(view.resource, document)
    config_name = (config.get("metadata") or {}).get("name")
    write_pipeline.check_name(
        operation.name, {"name": config_name} if config_name else value["metadata"]
    )
    write_pipeline.set_namespace(operation, value["metadata"])
    return value


def _unread(view: View, document: Object, config: Object) -> Object:
    """The content of a custom object as merged, not decoded: its rules check unknown fields and
    nulls too, and the schema decodes accepted objects only, see `CustomSchema.normalize`."""
    content: Object = plain(
        copied({name: item for name, item in document.items() if name != "metadata"})
    )
    if view.api.dialect.emptied_maps_stay:
        _keep_emptied(content, config)
    return content


def _keep_emptied(value: Object, config: Object) -> None:
    """Keep a map as `{}` if the configuration states it empty and it lost all its fields. The merge
    leaves null in its place."""
    for name, config_value in config.items():
        if config_value == {} and name in value and value[name] is None:
            value[name] = {}
        elif isinstance(config_value, dict) and isinstance(value.get(name), dict):
            _keep_emptied(value[name], config_value)


async def _create(api: Api, operation: Operation, config: Object, options: WriteOptions) -> Version:
    resource = operation.resource
    if resource.parent is not None or "create" not in resource.verbs:
        raise absent(operation.ref)
    view = View(api, resource)
    versions = versions_of(api, resource)
    merged, entries = await converting(
        operation.size, _merged, api, versions, operation, None, config, options
    )
    value = await budget.run(
        operation.size, _decoded, operation, view, typed(resource, merged), config
    )
    uid = value["metadata"].get("uid")
    if uid:
        message = (
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was"
        )
        raise conflict(operation.ref, f"{message} found")
    value["metadata"].pop("resourceVersion", None)
    stored = view.write({}, value)
    set_entries(stored["metadata"], entries)
    return await create(api, operation, stored, options, entries)
