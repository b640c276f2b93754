"""Server-side apply: merges a configuration into an object and tracks field ownership."""

from __future__ import annotations

from fairlead.base import budget
from fairlead.base.errors import StatusError, bad_request, conflict
from fairlead.codec.types.decode import known_part, unknown_paths
from fairlead.operations import configurations
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import converting
from fairlead.operations.configurations import ConfigurationChange
from fairlead.operations.create import create
from fairlead.operations.managed_fields import (
    set_entries,
    versions_of,
)
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.update import Outcome, store_changed
from fairlead.operations.views import View, typed, view_of
from fairlead.operations.write_pipeline import strict_errors, warn_of
from fairlead.resources.causes import absent
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


def _check_object_type(view: View, config: Object) -> None:
    version, kind = config.get("apiVersion"), config.get("kind")
    if (version, kind) == (view.api_version, view.kind):
        return
    group, name, shown = "", "", str(kind or "")
    if isinstance(version, str):
        group, _, name = version.rpartition("/")
        if "/" in group:  # a malformed version is not shown
            group, name, shown = "", "", ""
    raise bad_request(f"invalid object type: {group}/{name}, Kind={shown}")


async def _apply(
    api: Api, operation: Operation, view: View, config: Object, options: WriteOptions
) -> Outcome:
    kind = config.get("kind")
    if api.gates["LaterWording"]:
        _check_object_type(view, config)
    # A wrong apiVersion takes precedence over a wrong kind and is rejected later.
    if kind != view.kind and config.get("apiVersion") == view.api_version:
        if kind:
            raise bad_request(f"the kind of the configuration is {kind}, expected {view.kind}")
        raise bad_request(f"the configuration does not say its kind, expected {view.kind}")
    if api.collection(operation.resource).latest(operation.key) is None:
        try:
            return Outcome(await _create(api, operation, config, options), created=True)
        except StatusError as error:
            if error.reason != "AlreadyExists":  # another client created it first: change it
                raise
    change = ConfigurationChange(api, operation, view, config, options)
    return Outcome(await store_changed(api, operation, change, options))


async def _create(api: Api, operation: Operation, config: Object, options: WriteOptions) -> Version:
    resource = operation.resource
    if resource.parent is not None or "create" not in resource.verbs:
        raise absent(operation.ref)
    view = View(api, resource)
    versions = versions_of(api, resource)
    merged, entries = await converting(
        operation.size, configurations.merged, api, versions, operation, None, config, options
    )
    value = await budget.run(
        operation.size, configurations.decoded, operation, view, typed(resource, merged), config
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
