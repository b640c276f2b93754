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
    if spec.get("resources") and status.get("resources") is not None:
        own = _of_the_same_names(status["resources"], spec["resources"])
        if own != spec["resources"]:
            changed["resources"] = own
    return {**pod, "spec": {**spec, **changed}} if changed else pod


def _of_the_same_names(given: Object, asked: Object) -> Object:
    """What a pod as a whole has been given of what it asks for; a status also tells the totals of
    its containers."""
    return {
        kind: {name: given[kind][name] for name in amounts if name in (given.get(kind) or {})}
        for kind, amounts in asked.items()
    }


def _with(container: Object, resources: Object | None) -> Object:
    return container if resources is None else {**container, "resources": resources}
