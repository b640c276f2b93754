"""Validation of changes to a pod."""

from __future__ import annotations

from fairlead.codec.types.model import Struct
from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods import REQUIRED
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

NO_OTHER_CHANGES_LISTED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def check_spec_change(
    struct: Struct, spec: Object, old: Object, is_same: bool, path: str, causes: Causes
) -> None:
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
    if "schedulingGates" in spec:
        _check_gate_changes(spec, old, f"{path}.schedulingGates", causes)
    restored = _with_allowed_changes_undone(spec, old)
    if "schedulingGates" in old:
        _check_gated_changes(restored, old, path, causes)
    if restored != old:
        refusal = NO_OTHER_CHANGES_LISTED if causes.has_later_wording else NO_OTHER_CHANGES
        causes.forbidden(path, f"{refusal}\n{difference(struct, old, restored, causes)}")


def _check_gate_changes(spec: Object, old: Object, path: str, causes: Causes) -> None:
    """Scheduling gates may only be removed."""
    before = {gate["name"] for gate in old.get("schedulingGates") or ()}
    for index, gate in enumerate(spec["schedulingGates"]):
        if gate["name"] not in before:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            causes.forbidden(f"{path}[{index}].name", detail)


def _check_gated_changes(restored: Object, old: Object, path: str, causes: Causes) -> None:
    """While a pod is gated, its choice of nodes may be narrowed. Undoes such changes in
    `restored`."""
    selector, old_selector = restored.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in old_selector.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        causes.invalid(f"{path}.nodeSelector", selector, detail)
    keep(restored, old, "nodeSelector")
    affinity, old_affinity = restored.get("affinity"), old.get("affinity")
    node, old_node = (affinity or {}).get(NODE_AFFINITY), (old_affinity or {}).get(NODE_AFFINITY)
    if node == old_node:
        return
    _check_node_affinity_change(node, old_node, f"{path}.affinity.{NODE_AFFINITY}", causes)
    undone = {name: rules for name, rules in (affinity or {}).items() if name != NODE_AFFINITY}
    if old_node is not None:
        undone[NODE_AFFINITY] = old_node
    if undone or old_affinity is not None:
        restored["affinity"] = undone
    else:
        restored.pop("affinity", None)


NODE_AFFINITY = "nodeAffinity"


def _check_node_affinity_change(
    node: Object | None, old_node: Object | None, path: str, causes: Causes
) -> None:
    """Rules may be added to the terms that a node must match."""
    old_terms = ((old_node or {}).get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if not old_terms:
        return
    terms = ((node or {}).get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    path = f"{path}.{REQUIRED}.nodeSelectorTerms"
    if len(terms) != len(old_terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        causes.invalid(path, [_term_shown(term) for term in terms] or None, detail)
        return
    for index, (term, old_term) in enumerate(zip(terms, old_terms, strict=True)):
        if not _has_only_additions(term, old_term):
            detail = "only additions are allowed (no mutations or deletions)"
            causes.invalid(f"{path}[{index}]", _term_shown(term), detail)


def _term_shown(term: Object) -> Object:
    """A NodeSelectorTerm as messages print it."""
    return {
        field: [
            {"Key": rule["key"], "Operator": rule["operator"], "Values": rule.get("values")}
            for rule in term[name]
        ]
        if term.get(name)
        else None
        for field, name in (
            ("MatchExpressions", "matchExpressions"),
            ("MatchFields", "matchFields"),
        )
    }


def _has_only_additions(term: Object, old: Object) -> bool:
    names = ("matchExpressions", "matchFields")
    if not any(old.get(name) for name in names):
        return not any(term.get(name) for name in names)
    return all(
        (term.get(name) or [])[: len(old.get(name) or [])] == (old.get(name) or [])
        for name in names
    )


def _check_deadline(new: int | None, old: int | None, path: str, causes: Causes) -> bool:
    """A deadline may be set and shortened. Returns False if no further check is needed."""
    if new is None:
        if old is not None:
            detail = "must not update from a positive integer to nil value"
            causes.invalid(path, None, detail)
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
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
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


def check_ephemeral_change(
    struct: Struct, spec: Object, old: Object, path: str, causes: Causes
) -> None:
    """Ephemeral containers may only be added."""
    present = {container["name"]: container for container in spec.get("ephemeralContainers") or ()}
    for container in old.get("ephemeralContainers") or ():
        name = container["name"]
        if name not in present:
            causes.forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n')
        elif present[name] != container:
            text = difference(struct, container, present[name], causes)
            detail = f'existing ephemeral containers "{name}" may not be changed\n{text}'
            causes.forbidden(path, detail)
