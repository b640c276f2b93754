"""Merging an applied configuration into an object; never waits."""

from __future__ import annotations

from dataclasses import replace

from fairlead.base.errors import Cause, StatusError, bad_request, conflict
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
from fairlead.operations.update import Changed
from fairlead.operations.views import View, typed
from fairlead.operations.write_pipeline import check_required
from fairlead.resources.registry import Resource


class ConfigurationChange:
    """The change that an apply makes to an object, an `update.Change`."""

    def __init__(
        self, api: Api, operation: Operation, view: View, config: Object, options: WriteOptions
    ) -> None:
        self._api = api
        self._operation = operation
        self._options = options
        self._versions = versions_of(api, view.main)
        self._view = View(api, view.main)
        self._config = view.configuration(config)

    def __call__(self, old: Object) -> Changed:
        live, resource = self._view.read(old), self._operation.resource
        if resource.is_scale:
            return self._scale(old, live)
        whole, entries = self._merged(live, self._options)
        return self._changed(old, live, whole, entries)

    def _scale(self, old: Object, live: Object) -> Changed:
        """Apply to a scale, which is tracked or not, depending on the dialect."""
        resource, options = self._operation.resource, self._options
        if self._api.dialect.scale_untracked:
            if not entries_of(live):  # no manager can conflict
                options = replace(options, force=True)
            whole, entries = self._merged(live, options)
            return self._changed(old, live, whole, _former_managers_only(entries, live))
        if not owns_replicas(resource, live):
            live = _with_first_entry(resource, live)
        whole, entries = self._merged(live, options)
        return self._changed(old, live, whole, without_new_times(entries, old))

    def _merged(self, live: Object, options: WriteOptions) -> tuple[Object, list[Object]]:
        return merged(self._api, self._versions, self._operation, live, self._config, options)

    def _changed(self, old: Object, live: Object, whole: Object, entries: list[Object]) -> Changed:
        if whole is live and entries is live["metadata"].get("managedFields", entries):
            return Changed(copied(old), entries, keeps_all=True)
        value, keeps_content = decoded(self._operation, self._view, whole, self._config, live)
        value = self._view.write(old, value)
        return Changed(value, entries, keeps_content=keeps_content, keeps_all=whole is live)


class NewObject:
    """The object that an apply creates: in the stored version, with its managedFields entries."""

    value: Object
    entries: list[Object]

    def __init__(
        self, api: Api, operation: Operation, config: Object, options: WriteOptions
    ) -> None:
        self._api = api
        self._operation = operation
        self._config = config
        self._options = options

    def merge(self) -> None:
        api, operation, config = self._api, self._operation, self._config
        resource = operation.resource
        view, versions = View(api, resource), versions_of(api, resource)
        whole, self.entries = merged(api, versions, operation, None, config, self._options)
        value, _ = decoded(operation, view, typed(resource, whole), config)
        uid = value["metadata"].get("uid")
        if uid:
            message = "uid mismatch: the provided object specified uid"
            raise conflict(operation.ref, f"{message} {uid}, and no existing object was found")
        value["metadata"].pop("resourceVersion", None)
        self.value = view.write({}, value)
        set_entries(self.value["metadata"], self.entries)


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


def merged(
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
            merges_duplicates=api.gates["ApplyToDuplicates"],
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


def decoded(
    operation: Operation,
    view: View,
    merged: Object,
    config: Object,
    live: Object | None = None,
) -> tuple[Object, bool]:
    """Decode the merge of a configuration and the live object, if there is one. Also returns
    whether it changes nothing but metadata."""
    document = {name: item for name, item in merged.items() if name not in ("kind", "apiVersion")}
    is_custom = view.main.custom is not None
    undecoded = {"metadata": document["metadata"]} if is_custom else document
    try:
        value, keeps_content = decode_beside(view.main, view.struct, undecoded, live or {}, [])
    except DecodeError as error:
        raise bad_request(str(error)) from None
    if is_custom:
        value, keeps_content = {**_unread(view, document, config), **value}, False
    if view.api.dialect.required_fields_refused:
        check_required(view.resource, document)
    config_name = (config.get("metadata") or {}).get("name")
    write_pipeline.check_name(
        operation.name, {"name": config_name} if config_name else value["metadata"]
    )
    write_pipeline.set_namespace(operation, value["metadata"])
    return value, keeps_content


def _unread(view: View, document: Object, config: Object) -> Object:
    """The merged content of a custom object, not decoded: its validation also checks unknown fields
    and nulls. Only accepted objects are decoded by the schema, see `CustomSchema.normalize`."""
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
