"""Merges roles and bindings of files into those of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fairlead.auth.authorization.coverage import compact, missing_rules, rule_text

Object = dict[str, Any]


class Merge(NamedTuple):
    """The object to write, and what is told of it."""

    value: Object
    action: str  # create, update, recreate; empty if nothing changes
    notes: dict[str, list[str]]  # what was added and removed, under a heading each


def merged_role(live: Object | None, wanted: Object, *, removes_extra: bool) -> Merge:
    """The role with the rules of both, or with those wanted if extra ones are removed. Rules are
    compared by what they permit."""
    old, new = _list(live, "rules"), _list(wanted, "rules")
    added = compact(missing_rules(old, new)) if live else new
    removed = compact(missing_rules(new, old)) if removes_extra else []
    fields: Object = {"rules": new if removed else [*old, *added]}
    notes = {
        "missing rules added": [rule_text(rule) for rule in added],
        "extra rules removed": [rule_text(rule) for rule in removed],
    }
    if wanted.get("aggregationRule") or (live or {}).get("aggregationRule"):
        fields["aggregationRule"], selector_notes = _merged_aggregation(
            live or {}, wanted, removes_extra
        )
        notes |= selector_notes
        if wanted.get("aggregationRule"):  # the controller writes the rules
            fields["rules"] = old
            notes["missing rules added"] = notes["extra rules removed"] = []
    return _merge(live, wanted, fields, notes)


def _merged_aggregation(
    live: Object, wanted: Object, removes_extra: bool
) -> tuple[Object, dict[str, list[str]]]:
    old, new = (
        (side.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
        for side in (live, wanted)
    )
    added = [selector for selector in new if selector not in old]
    removed = [selector for selector in old if selector not in new] if removes_extra else []
    kept = [selector for selector in old if selector not in removed]
    return {"clusterRoleSelectors": kept + added}, {
        "missing aggregation rule selectors added": [str(selector) for selector in added],
        "extra aggregation rule selectors removed": [str(selector) for selector in removed],
    }


def merged_binding(live: Object | None, wanted: Object, *, removes_extra: bool) -> Merge:
    """The binding with the subjects of both, or with those wanted if extra ones are removed. A
    binding to another role has to be created again."""
    old, new = _list(live, "subjects"), _list(wanted, "subjects")
    known, wished = ([_subject(subject) for subject in side] for side in (old, new))
    added = [subject for subject in new if _subject(subject) not in known]
    removed = [s for s in old if _subject(s) not in wished] if removes_extra else []
    fields = {"subjects": [subject for subject in old if subject not in removed] + added}
    notes = {
        "missing subjects added": [" ".join(filter(None, _subject(one))) for one in added],
        "extra subjects removed": [" ".join(filter(None, _subject(one))) for one in removed],
    }
    merge = _merge(live, wanted, fields, notes)
    if live is not None and _role(live) != _role(wanted):
        return merge._replace(action="recreate", value={**wanted, **fields})
    return merge


def _subject(subject: Object) -> tuple[str, ...]:
    """Kind, namespace and name; the API group follows from the kind."""
    return tuple(str(subject.get(name) or "") for name in ("kind", "namespace", "name"))


def _role(binding: Object) -> tuple[Any, ...]:
    reference = binding.get("roleRef") or {}
    return reference.get("kind"), reference.get("name")


def _merge(
    live: Object | None, wanted: Object, fields: Object, notes: dict[str, list[str]]
) -> Merge:
    shown = {heading: texts for heading, texts in notes.items() if texts}
    if live is None:
        return Merge({**wanted, **fields}, "create", shown)
    metadata = dict(live["metadata"])
    for name in ("labels", "annotations"):
        marks = {**(metadata.get(name) or {}), **(wanted["metadata"].get(name) or {})}
        if marks:
            metadata[name] = marks
    changed = bool(shown) or metadata != live["metadata"]
    return Merge({**live, **fields, "metadata": metadata}, "update" if changed else "", shown)


def _list(value: Object | None, name: str) -> list[Object]:
    return list((value or {}).get(name) or ())


# The kinds, and how each is merged.

MERGES: dict[str, Callable[..., Merge]] = {
    "Role": merged_role,
    "ClusterRole": merged_role,
    "RoleBinding": merged_binding,
    "ClusterRoleBinding": merged_binding,
}
