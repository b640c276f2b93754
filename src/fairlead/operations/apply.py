"""Server-side apply: merges a configuration into an object and tracks field ownership."""

from __future__ import annotations

from functools import partial

from fairlead.base.deferred import Outcome, then
from fairlead.base.errors import bad_request
from fairlead.operations import retries
from fairlead.operations.api import Api, Object
from fairlead.operations.configurations import ConfigurationChange, NewObject
from fairlead.operations.create import create
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.update import store_changed
from fairlead.operations.views import View, view_of
from fairlead.operations.write import offload
from fairlead.resources.causes import absent
from fairlead.storage.version import Version


def apply(
    api: Api, operation: Operation, config: Object, options: WriteOptions
) -> Outcome[Version]:
    """Merge a manager's configuration into the object; create the object if it does not exist."""
    operation.applies = True
    view = view_of(api, operation.resource)
    if not api.dialect.apply_drops_unknown:
        return _apply(api, operation, view, options, config)
    attempt = partial(_apply, api, operation, view, options)
    return retries.apply_known_fields(operation, view.struct, config, options, attempt)


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


def _apply(
    api: Api, operation: Operation, view: View, options: WriteOptions, config: Object
) -> Outcome[Version]:
    kind = config.get("kind")
    if api.gates["LaterWording"]:
        _check_object_type(view, config)
    # A wrong apiVersion takes precedence over a wrong kind and is rejected later.
    if kind != view.kind and config.get("apiVersion") == view.api_version:
        if kind:
            raise bad_request(f"the kind of the configuration is {kind}, expected {view.kind}")
        raise bad_request(f"the configuration does not say its kind, expected {view.kind}")
    change = partial(_change, api, operation, view, options, config)
    if api.collection(operation.resource).latest(operation.key) is not None:
        return change()
    create_new = partial(_create, api, operation, options, config)
    return retries.create_or_change(api, operation, create_new, change)


def _change(
    api: Api, operation: Operation, view: View, options: WriteOptions, config: Object
) -> Outcome[Version]:
    change = ConfigurationChange(api, operation, view, config, options)
    return store_changed(api, operation, change, options)


def _create(
    api: Api, operation: Operation, options: WriteOptions, config: Object
) -> Outcome[Version]:
    resource = operation.resource
    if resource.parent is not None or "create" not in resource.verbs:
        raise absent(operation.ref)
    new = NewObject(api, operation, config, options)
    merging = offload(operation.size, new.merge)
    return then(merging, partial(_create_merged, api, operation, options, new))


def _create_merged(
    api: Api, operation: Operation, options: WriteOptions, new: NewObject, _: None
) -> Outcome[Version]:
    return create(api, operation, new.value, options, new.entries)
