"""What a node has given to the containers of a pod, whose spec may ask for something else since."""

from __future__ import annotations

from fairlead.codec.types.model import Object

_FAMILIES = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


def with_given(pod: Object) -> Object:
    """The pod with the resources that its node has given to its containers."""
    spec, status = pod["spec"], pod["status"]
    changed: Object = {}
    for family, list_name in _FAMILIES:
        given = {item["name"]: item.get("resources") for item in status.get(list_name) or ()}
        if any(
            given.get(each["name"]) not in (None, each["resources"])
            for each in spec.get(family) or ()
        ):
            changed[family] = [_with(each, given.get(each["name"])) for each in spec[family]]
    own = status.get("resources")
    if own is not None and spec.get("resources") is not None and own != spec["resources"]:
        changed["resources"] = own
    return {**pod, "spec": {**spec, **changed}} if changed else pod


def _with(container: Object, resources: Object | None) -> Object:
    return container if resources is None else {**container, "resources": resources}
