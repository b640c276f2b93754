"""The names of extended resources that device classes stand for."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.base.dialect import Dialect
from fairlead.resources.behaviour import Object

EXTENDED_CLAIM = "resource.@/extended-resource-claim"
OF_CLASS = "deviceclass.resource.@/"


def classes_by_resource(classes: Iterable[Object], dialect: Dialect) -> dict[str, str]:
    """The names of classes by those of the resources that they stand for. Each class has one of its
    own; of several with the same `extendedResourceName` the newest counts, then the first by
    name."""
    named = {each["metadata"]["name"]: each for each in classes}
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
