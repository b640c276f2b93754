"""Validation of changes to a pod."""

from __future__ import annotations

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS
from fairlead.resources.core.pods.containers import check_image_space, has_image_space
from fairlead.resources.core.pods.difference import difference
from fairlead.resources.core.pods.scheduling import check_tolerations
from fairlead.resources.core.pods.spec import MAX_DEADLINE

NO_OTHER_CHANGES = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    " `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only"
    " additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be"
    " set to 1 if it was previously negative)"
)


def check_spec_change(spec: Object, old: Object, is_same: bool, path: str, causes: Causes) -> None:
    """`is_same`: the two specs are equal."""
    for name in DECLARED_LISTS:
        new_list: list[Object] = spec.get(name) or []
        old_list: list[Object] = old.get(name) or []
        if len(new_list) != len(old_list):
            causes.forbidden(f"{path}.{name}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(new_list):
            if not container.get("image"):
                causes.required(f"{path}.{name}[{index}].image")
            if has_image_space(container):
                check_image_space(container, f"{path}.{name}[{index}]", causes)
    new_deadline: int | None = spec.get("activeDeadlineSeconds")
    old_deadline: int | None = old.get("activeDeadlineSeconds")
    if not _check_deadline(new_deadline, old_deadline, f"{path}.activeDeadlineSeconds", causes):
        return
    _check_toleration_changes(spec, old, f"{path}.tolerations", causes)
    if is_same:
        return
    restored = _with_allowed_changes_undone(spec, old)
    if restored != old:
        causes.forbidden(path, f"{NO_OTHER_CHANGES}\n{difference('PodSpec', old, restored)}")


def _check_deadline(new: int | None, old: int | None, path: str, causes: Causes) -> bool:
    """A deadline may be set and shortened. Returns False if no further check is needed."""
    if new is None:
        if old is not None:
            detail = "must not update from a positive integer to nil value"
            causes.invalid(path, "null", detail)
        return True
    if not 0 <= new <= MAX_DEADLINE:
        causes.invalid(path, new, f"must be between 0 and {MAX_DEADLINE}, inclusive")
        return False
    if old is not None and old < new:
        causes.invalid(path, new, "must be less than or equal to previous value")
        return False
    return True


def _check_toleration_changes(spec: Object, old: Object, path: str, causes: Causes) -> None:
    """Tolerations may be added, and their `tolerationSeconds` changed."""
    new_list, old_list = spec.get("tolerations") or [], old.get("tolerations") or []
    if new_list == old_list:
        return
    present = [_without_seconds(toleration) for toleration in new_list]
    if any(_without_seconds(toleration) not in present for toleration in old_list):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        causes.forbidden(path, detail)
    else:
        check_tolerations(new_list, path, causes)


def _without_seconds(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _with_allowed_changes_undone(spec: Object, old: Object) -> Object:
    restored = dict(spec)
    for name in DECLARED_LISTS:
        if spec.get(name):
            restored[name] = [
                _with_image(new, before) for new, before in zip(spec[name], old[name], strict=True)
            ]
    for name in ("activeDeadlineSeconds", "tolerations"):
        restored.pop(name, None)
        if name in old:
            restored[name] = old[name]
    grace = "terminationGracePeriodSeconds"
    if (old.get(grace) or 0) < 0 and spec.get(grace) == 1:
        restored[grace] = old[grace]
    return restored


def _with_image(container: Object, old: Object) -> Object:
    restored = dict(container)
    if "image" in old:
        restored["image"] = old["image"]
    return restored


def check_ephemeral_change(spec: Object, old: Object, path: str, causes: Causes) -> None:
    """Ephemeral containers may only be added."""
    present = {container["name"]: container for container in spec.get("ephemeralContainers") or ()}
    for container in old.get("ephemeralContainers") or ():
        name = container["name"]
        if name not in present:
            causes.forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n')
        elif present[name] != container:
            text = difference("EphemeralContainer", container, present[name])
            detail = f'existing ephemeral containers "{name}" may not be changed\n{text}'
            causes.forbidden(path, detail)
