"""Variables: `$(NAME)` in the usual fields becomes the value of a field of an object."""

from __future__ import annotations

import re
from typing import Any

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.fields import change
from fairlead.cli.kustomize.identity import Identity, Kind, group_and_version, neutral_group
from fairlead.cli.kustomize.replacements import look_up, steps_of
from fairlead.cli.kustomize.resources import BuiltSet, Object, as_text
from fairlead.cli.kustomize.rules import Rules

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\)|\(|.|$)", re.DOTALL)
_INDEXED = re.compile(r"(.*)\[(\d+)\]")
Variables = dict[str, Object]


def declare(variables: Variables, items: BuiltSet, entries: list[Object], where: str) -> None:
    """Add the variables of a kustomization, and note at the objects which of them they hold; raises
    KustomizeError."""
    for entry in entries:
        name = entry.get("name") or ""
        if not name:
            raise KustomizeError(f"{where}: a variable has no name")
        target = entry.get("objref") or {}
        group, version = target.get("group") or "", target.get("version") or ""
        if target.get("apiVersion"):
            group, version = group_and_version(target["apiVersion"])
        wanted = Identity(
            Kind(neutral_group(group), version, target.get("kind") or ""),
            target.get("name") or "",
            target.get("namespace") or "",
        )
        is_exact = bool(wanted.namespace) or wanted.kind.is_cluster_scoped()
        found = items.matching(
            lambda identity, wanted=wanted, is_exact=is_exact: (  # type: ignore[misc]
                identity.matches(wanted) if is_exact else identity[:2] == wanted[:2]
            )
        )
        if len(found) > 1:
            raise KustomizeError(f"{where}: several objects fit the variable {name}")
        if found:
            found[0].variables.append(name)
        add(variables, {name: entry})


def add(variables: Variables, more: Variables) -> None:
    """Raises KustomizeError if two have the same name."""
    for name, entry in more.items():
        if name in variables:
            raise KustomizeError(f"the variable {name} is there twice")
        variables[name] = entry


def resolve(items: BuiltSet, variables: Variables, rules: Rules) -> list[str]:
    """Put the values in place; return the names that nothing uses. Raises KustomizeError."""
    values = {name: _value(items, name, variables[name]) for name in sorted(variables)}
    if not values:
        return []
    used: set[str] = set()

    def replaced(text: str) -> Any:
        return _replaced(text, values, used)

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return replaced(value)
        if isinstance(value, dict):
            return {
                key: replaced(item) if isinstance(item, str) else item
                for key, item in value.items()
            }
        if isinstance(value, list):
            if not all(isinstance(item, str) for item in value):
                raise KustomizeError("a list with variables has items that are no texts")
            return [replaced(item) for item in value]
        return value

    for item in items:
        for rule in rules["varReference"]:
            change(item.value, rule, changed)
    return sorted(values.keys() - used)


def _value(items: BuiltSet, name: str, entry: Object) -> Any:
    path = (entry.get("fieldref") or {}).get("fieldPath") or "metadata.name"
    for item in items:
        if name in item.variables:
            slot = look_up(item.value, [part for step in steps_of(path) for part in _parts(step)])
            if slot is None:
                raise KustomizeError(f"the variable {name}: {item.identity} has no {path}")
            return slot.value
    raise KustomizeError(f"the variable {name} is for an object that does not exist")


def _parts(step: str) -> list[str]:
    """The name and the index of `ports[0]`."""
    match = _INDEXED.fullmatch(step)
    return [step] if match is None else [*filter(None, [match[1]]), match[2]]


def _replaced(text: str, values: dict[str, Any], used: set[str]) -> Any:
    """The text with values in place of references. A text that is one reference becomes the value
    with its type; `$$` is a dollar sign."""

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$" if match[0] == "$$" else match[0]
        if name not in values or isinstance(values[name], (dict, list)):
            return match[0]
        used.add(name)
        return as_text(values[name])

    whole = _REFERENCE.fullmatch(text)
    if whole and whole[1] is not None and whole[1] in values:
        value = values[whole[1]]
        if not isinstance(value, (dict, list)):
            used.add(whole[1])
            return value
    return _REFERENCE.sub(value_of, text)
