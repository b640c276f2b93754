"""Applying a configuration: fields are merged and owned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairlead.errors import Cause, StatusError, bad_request, not_found
from fairlead.operations import preparing
from fairlead.operations.api import Api, Object
from fairlead.operations.create import create
from fairlead.operations.field_validation import check_required
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.tracking import (
    converting,
    decode_beside,
    ignored_fields,
    set_entries,
    versions_of,
)
from fairlead.operations.update import Changed, Outcome, store_changed
from fairlead.operations.views import View, typed, view_of
from fairlead.patching.conflicts import ApplyConflict, BadConfiguration, InvalidConfiguration
from fairlead.patching.entries import entries_of
from fairlead.patching.ownership import apply as merge_configuration
from fairlead.patching.values import copied
from fairlead.schema.mismatch import DecodeError
from fairlead.schema.times import now
from fairlead.storage.version import Version


async def apply(api: Api, operation: Operation, config: Object, options: WriteOptions) -> Outcome:
    """Make the object have what a manager's configuration says; create it if there is none."""
    view = view_of(api, operation.resource)
    kind = config.get("kind")
    if kind != view.kind and kind:
        raise bad_request(f"the kind of the configuration is {kind}, expected {view.kind}")
    if api.store.latest(api.collection(operation.resource), operation.key) is None:
        return Outcome(await _create(api, operation, config, options), created=True)
    return Outcome(await _change(api, operation, view, config, options))


async def _change(
    api: Api, operation: Operation, view: View, config: Object, options: WriteOptions
) -> Version:
    versions = versions_of(api, view.main)
    whole = View(api, view.main)
    config = view.configuration(config)

    def change(old: Object) -> Changed:
        live = whole.read(old)
        merged, entries = _merged(api, versions, operation, live, config, options)
        if operation.resource.is_scale and api.dialect.scale_untracked:
            entries = entries_of(live)
        if merged is live and entries is live["metadata"].get("managedFields", entries):
            return Changed(copied(old), entries)
        value = _decoded(operation, whole, merged, config, live)
        return Changed(whole.write(old, value), entries)

    return await store_changed(api, operation, change, options)


def _merged(
    api: Api,
    versions: Any,
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


def _decoded(
    operation: Operation,
    view: View,
    merged: Object,
    config: Object,
    live: Object | None = None,
) -> Object:
    """The object that came of a configuration and of one that was, if there was one."""
    document = {name: item for name, item in merged.items() if name not in ("kind", "apiVersion")}
    try:
        value = decode_beside(view.main, view.struct, document, live or {}, [])
    except DecodeError as error:
        raise bad_request(str(error)) from None
    if view.api.dialect.required_fields_refused:
        check_required(view.resource, document)
    given = (config.get("metadata") or {}).get("name")
    preparing.check_name(operation.name, {"name": given} if given else value["metadata"])
    preparing.set_namespace(operation, value["metadata"])
    return value


async def _create(api: Api, operation: Operation, config: Object, options: WriteOptions) -> Version:
    resource = operation.resource
    if resource.parent is not None or "create" not in resource.verbs:
        raise not_found(operation.ref)
    await api.authorize_create(operation)
    view = View(api, resource)
    versions = versions_of(api, resource)
    merged, entries = await converting(
        operation.size, _merged, api, versions, operation, None, config, options
    )
    value = _decoded(operation, view, typed(resource, merged), config)
    value["metadata"].pop("resourceVersion", None)
    stored = view.write({}, value)
    set_entries(stored["metadata"], entries)
    return await create(api, operation, stored, options, entries)
