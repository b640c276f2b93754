"""The names of extended resources that device classes stand for."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.base.dialect import Dialect
from fairlead.resources.behaviour import Object

EXTENDED_CLAIM = "resource.@/extended-resource-claim"
OF_CLASS = "deviceclass.resource.@/"


def classes_by_resource(classes: Iterable[Object], dialect: Dialect) -> dict[str, str]:
    """Maps extended resources to the names of their device classes. Each class has an implicit
    resource of its own; of several classes with the same `extendedResourceName` the newest counts,
    then the first by name."""
    named = {device_class["metadata"]["name"]: device_class for device_class in classes}
    by_age = sorted(sorted(named, reverse=True), key=lambda name: _age(named[name]))
    found = {}
    for name in by_age:
        found[dialect.label(OF_CLASS) + name] = name
        resource = named[name]["spec"].get("extendedResourceName")
        if resource:
            found[resource] = name
    return found


def _age(device_class: Object) -> str:
    return str(device_class["metadata"].get("creationTimestamp") or "")
