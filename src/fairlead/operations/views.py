"""Views: the object that a path addresses, either the stored object or its scale."""

from __future__ import annotations

from typing import Final

from fairlead.base.errors import ResourceRef, bad_request, conflict, invalid
from fairlead.codec.types.model import Struct
from fairlead.codec.types.names import dns_subdomain
from fairlead.fields.check import check_type
from fairlead.fields.conflicts import InvalidConfiguration
from fairlead.operations.api import Api, Object
from fairlead.resources.causes import Causes, new_causes
from fairlead.resources.columns.cell_text import selector_text
from fairlead.resources.custom.scale import UNSET, ScalePaths, shown
from fairlead.resources.metadata import check_metadata
from fairlead.resources.registry import Resource, from_stored, to_stored
from fairlead.resources.rules import non_negative


def typed(resource: Resource, value: Object) -> Object:
    return {"kind": resource.kind, "apiVersion": resource.api_version, **value}


class View:
    """The whole object, in the version of the resource."""

    def __init__(self, api: Api, resource: Resource) -> None:
        self.api = api
        self.resource = resource
        self.main = resource.main

    @property
    def api_version(self) -> str:
        return self.main.api_version

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def struct(self) -> Struct:
        return self.resource.struct

    def read(self, stored: Object) -> Object:
        """The document that clients see. Does not modify the stored object."""
        return typed(self.main, from_stored(self.main, stored))

    def read_to_change(self, stored: Object) -> Object:
        """The document that a patch is applied to."""
        return self.read(stored)

    def write(self, stored: Object, value: Object) -> Object:
        """The stored object that results from writing a decoded document."""
        return to_stored(self.main, value)

    def configuration(self, config: Object) -> Object:
        """Translate a configuration for this view into one for the whole object."""
        return config


class ScaleView(View):
    """The Scale of a workload. Field managers own its one writable field under its path in the
    workload."""

    @property
    def api_version(self) -> str:
        return self.api.resources.api_version_of(self.resource.body_version)

    def read(self, stored: Object) -> Object:
        paths = self._paths
        if paths is not None:
            scale = {"metadata": scale_metadata(stored), **paths.read(stored)}
        else:
            scale = read_scale(self.main.key, stored)
        return {"kind": self.kind, "apiVersion": self.api_version, **scale}

    def read_to_change(self, stored: Object) -> Object:
        """Sets a placeholder if a custom object has no replicas yet, so that a patch can add
        them."""
        paths = self._paths
        if paths is None or paths.is_set(stored):
            return self.read(stored)
        return self.read(paths.write(stored, UNSET))

    def write(self, stored: Object, value: Object) -> Object:
        if self._paths is not None:  # the rules of the kind check the number
            replicas = value["spec"].get("replicas") or 0
            if replicas == UNSET:
                path = shown(self._paths.spec)
                raise bad_request(f'the spec replicas field "{path}" cannot be empty')
            return with_version(self._paths.write(stored, replicas), value)
        causes = new_causes(self.api.gates)
        check_scale(value, causes)
        if causes:
            group = self.api_version.rpartition("/")[0]
            name = value["metadata"].get("name", "")
            raise invalid(self.resource.named_ref(group, name), causes)
        self._check_uid(value["metadata"].get("uid", ""), stored["metadata"])
        return write_scale(stored, value)

    def _check_uid(self, uid: str, metadata: Object) -> None:
        """Raise Conflict if the Scale belongs to a deleted object of the same name."""
        if uid and uid != metadata["uid"]:
            ref = ResourceRef(self.main.group, self.resource.name, metadata["name"])
            text = "Precondition failed: UID in precondition: {}, UID in object meta: {}"
            raise conflict(ref, text.format(uid, metadata["uid"]))

    @property
    def _paths(self) -> ScalePaths | None:
        """The paths of the replicas in a custom kind; None for built-in kinds."""
        return self.main.custom.scale if self.main.custom is not None else None

    def configuration(self, config: Object) -> Object:
        """Keep only the replicas and the object's identity: permission to write a scale does not
        include the workload."""
        if config.get("apiVersion") != self.api_version:
            raise bad_request(
                "Incorrect version specified in apply patch. Specified patch version:"
                f" {config.get('apiVersion') or ''}, expected: {self.api_version}"
            )
        try:
            check_type(self.struct, config)
        except InvalidConfiguration as error:
            raise bad_request(str(error)) from None
        result: Object = {"apiVersion": self.main.api_version, "kind": self.main.kind}
        for part, fields in _SCALE_FIELDS.items():
            if isinstance(config.get(part), dict):
                result[part] = {name: config[part][name] for name in fields if name in config[part]}
            elif part in config:
                result[part] = config[part]
        return result


_SCALE_FIELDS: Final = {
    "metadata": ("name", "namespace", "uid", "resourceVersion", "managedFields"),
    "spec": ("replicas",),
}


def view_of(api: Api, resource: Resource) -> View:
    return ScaleView(api, resource) if resource.is_scale else View(api, resource)


# The Scale of a workload: desired and actual replicas, and the selector of its pods

_METADATA: Final[tuple[str, ...]] = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
)
# Its selector is a plain map of labels.
_LABELS_ONLY: Final = "core/v1/replicationcontrollers"


def read_scale(resource_key: str, stored: Object) -> Object:
    """The autoscaling/v1 Scale of a stored workload, without kind and apiVersion."""
    spec, status = stored["spec"], stored.get("status") or {}
    replicas, selector = spec.get("replicas") or 0, spec.get("selector")
    if resource_key == _LABELS_ONLY:
        selector = {"matchLabels": selector}
    text = selector_text(selector)
    return {
        "metadata": scale_metadata(stored),
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas") or 0, **({"selector": text} if text else {})},
    }


def write_scale(stored: Object, scale: Object) -> Object:
    """The workload with the replicas of a Scale. The resourceVersion of the Scale, if set, becomes
    the precondition of the write."""
    spec = {**stored["spec"], "replicas": scale["spec"].get("replicas") or 0}
    return with_version({**stored, "spec": spec}, scale)


def scale_metadata(stored: Object) -> Object:
    metadata = stored["metadata"]
    return {name: metadata[name] for name in _METADATA if name in metadata}


def with_version(value: Object, scale: Object) -> Object:
    """The workload with the resourceVersion of a Scale, if set, as the precondition of a write."""
    metadata = {**value["metadata"]}
    metadata.pop("resourceVersion", None)
    if scale["metadata"].get("resourceVersion"):
        metadata["resourceVersion"] = scale["metadata"]["resourceVersion"]
    return {**value, "metadata": metadata}


def check_scale(scale: Object, causes: Causes) -> None:
    check_metadata(scale["metadata"], True, dns_subdomain, causes)
    non_negative(scale["spec"].get("replicas"), "spec.replicas", causes)
