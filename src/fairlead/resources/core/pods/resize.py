"""The subresource `resize`: changes of cpu and memory of a pod while it runs."""

from __future__ import annotations

from typing import Final

from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.annotations import keys
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS
from fairlead.resources.core.pods.resources import qos_class
from fairlead.resources.core.pods.totals import is_sidecar

RESIZABLE: Final[tuple[str, ...]] = ("cpu", "memory")
_CHANGED_FIELDS = ("resources", "resizePolicy")
ONLY_CPU_AND_MEMORY = "only cpu and memory resources are mutable"


def keep_all_but_resources(value: Object, old: Object, context: Context) -> None:
    """Take only resources and resize policies from the request. If containers were added, removed
    or reordered, the spec stays as it is, to be refused."""
    spec, old_spec = value["spec"], old["spec"]
    if any(len(spec.get(name) or ()) != len(old_spec.get(name) or ()) for name in DECLARED_LISTS):
        return
    resized = dict(old_spec)
    for name in DECLARED_LISTS:
        if name in old_spec:
            resized[name] = _with_resources(spec[name], old_spec[name])
    if context.gates["InPlacePodLevelResourcesVerticalScaling"]:
        keep(resized, spec, "resources")
    value["spec"] = resized
    keep(value, old, "status")


def _with_resources(containers: list[Object], before: list[Object]) -> list[Object]:
    resized = []
    for container, old in zip(containers, before, strict=True):
        if container["name"] != old["name"]:
            return containers
        merged = dict(old)
        for name in _CHANGED_FIELDS:
            keep(merged, container, name)
        resized.append(merged)
    return resized


def check_resize(value: Object, old: Object, causes: Causes, context: Context) -> None:
    """Check a resize of a pod whose spec is valid."""
    spec, old_spec = value["spec"], old["spec"]
    refusal = ""
    if keys(context.dialect).mirror in (old["metadata"].get("annotations") or {}):
        refusal = "static pods cannot be resized"
    elif (old_spec.get("os") or {}).get("name") == "windows":
        refusal = "windows pods cannot be resized"
    if refusal:
        causes.clear()
        causes.forbidden("[]", refusal)
        return
    if (old["status"].get("qosClass") or qos_class(old_spec)) != qos_class(spec):
        detail = "Pod QOS Class may not change as a result of resizing"
        causes.invalid("spec", value["status"].get("qosClass", ""), detail)
    if not _is_supported(old["status"]):
        causes.forbidden("spec", "Pod running on node without support for resize")
    restored = dict(spec)
    if _has_resources(spec) or _has_resources(old_spec):
        if not context.gates["InPlacePodLevelResourcesVerticalScaling"]:
            detail = (
                "resize of pods with pod-level resources is forbidden when"
                " InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
            )
            causes.forbidden("[]", detail)
            return
        _check_pod_level(spec, old_spec, restored, causes)
    if _are_reordered(spec, old_spec, causes):
        return
    _check_removals(spec, old_spec, causes)
    _check_containers(spec, old_spec, restored, causes)
    _check_init_containers(spec, old_spec, restored, causes)
    if not causes and restored != old_spec:
        causes.forbidden("spec", ONLY_CPU_AND_MEMORY)


def _is_supported(status: Object) -> bool:
    """Nodes that can resize containers report their resources."""
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _has_resources(spec: Object) -> bool:
    resources: Object = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _check_pod_level(spec: Object, old: Object, restored: Object, causes: Causes) -> None:
    """Check the resources of the pod as a whole, and undo allowed changes in `restored`."""
    resources, before = spec.get("resources"), old.get("resources")
    path = "spec.resources"
    if before is not None and resources is None:
        causes.forbidden(path, "pod-level resources cannot be removed")
        return
    assert resources is not None
    if before is not None:
        for kind in ("requests", "limits"):
            if _is_removed(resources.get(kind), before.get(kind)):
                causes.forbidden(f"{path}.{kind}", f"pod-level resource {kind} cannot be removed")
    undone = _with_amounts_undone(resources, before or {})
    if undone or before is not None:
        restored["resources"] = undone
    else:
        restored.pop("resources", None)
    if restored.get("resources") != before:
        causes.forbidden("spec", f"{ONLY_CPU_AND_MEMORY} at pod-level")


def _are_reordered(spec: Object, old: Object, causes: Causes) -> bool:
    count = len(causes)
    for name in DECLARED_LISTS:
        containers, before = spec.get(name) or [], old.get(name) or []
        if len(containers) != len(before):
            causes.forbidden(f"spec.{name}", f"{name} may not be added or removed on resize")
            continue
        for index, (container, old_container) in enumerate(zip(containers, before, strict=True)):
            if container["name"] != old_container["name"]:
                detail = f"{name} may not be renamed or reordered on resize"
                causes.forbidden(f"spec.{name}[{index}].name", detail)
    return len(causes) > count


def _check_removals(spec: Object, old: Object, causes: Causes) -> None:
    for name in reversed(DECLARED_LISTS):
        pairs = zip(spec.get(name) or (), old.get(name) or (), strict=True)
        for index, (container, before) in enumerate(pairs):
            for kind in ("requests", "limits"):
                if _is_removed(container["resources"].get(kind), before["resources"].get(kind)):
                    path = f"spec.{name}[{index}].resources.{kind}"
                    causes.forbidden(path, f"resource {kind} cannot be removed")


def _is_removed(amounts: Object | None, before: Object | None) -> bool:
    return any(name not in (amounts or {}) for name in before or ())


def _check_containers(spec: Object, old: Object, restored: Object, causes: Causes) -> None:
    undone = []
    for container, before in zip(spec["containers"], old["containers"], strict=True):
        undone.append(_undone(container, before))
        if undone[-1] != before:
            causes.forbidden("spec", ONLY_CPU_AND_MEMORY)
    restored["containers"] = undone


def _check_init_containers(spec: Object, old: Object, restored: Object, causes: Causes) -> None:
    if "initContainers" not in old:
        return
    undone = []
    pairs = zip(spec["initContainers"], old["initContainers"], strict=True)
    for index, (container, before) in enumerate(pairs):
        path = f"spec.initContainers[{index}]"
        undone.append(_undone(container, before))
        if undone[-1] != before:
            detail = "only cpu and memory resources for init or sidecar containers are mutable"
            causes.forbidden(path, detail)
        if container == before or is_sidecar(container):
            continue
        for policy in container.get("resizePolicy") or ():
            if policy.get("restartPolicy") == "RestartContainer":
                detail = (
                    "non-sidecar init containers with a resize policy of RestartContainer cannot"
                    " be resized"
                )
                causes.forbidden(path, detail)
    restored["initContainers"] = undone


def _undone(container: Object, before: Object) -> Object:
    """The container with the cpu and memory that it had."""
    return {
        **container,
        "resources": _with_amounts_undone(container["resources"], before["resources"]),
    }


def _with_amounts_undone(resources: Object, before: Object) -> Object:
    undone: Object = {}
    for kind in ("limits", "requests"):
        amounts = {
            name: text
            for name, text in (resources.get(kind) or {}).items()
            if name not in RESIZABLE
        }
        old_amounts: Object = before.get(kind) or {}
        amounts.update({name: old_amounts[name] for name in RESIZABLE if name in old_amounts})
        if amounts:
            undone[kind] = amounts
    if "claims" in before:
        undone["claims"] = before["claims"]
    return undone
