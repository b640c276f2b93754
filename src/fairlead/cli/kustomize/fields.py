"""Fields of objects by paths such as `spec/template/spec/containers/image`, in which lists are
passed through, and the rules that say which field of which kind a transformation concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.identity import Kind, kind_of, neutral_group

Object = dict[str, Any]
Change = Callable[[Any], Any]  # the new value of a field; None for a field that is null


class Rule(NamedTuple):
    """A field of the objects of some kinds, and whether it is created where it is missing."""

    kind: Kind
    path: str
    creates: bool = False

    def covers(self, other: Rule) -> bool:
        """Whether the other rule concerns no more than this one, for the same field."""
        return other.kind.selects(self.kind) and self.path == other.path


def rule_of(fields: Object) -> Rule:
    """The rule of an entry of a configuration file."""
    kind = Kind(
        neutral_group(str(fields.get("group") or "")),
        str(fields.get("version") or ""),
        str(fields.get("kind") or ""),
    )
    return Rule(kind, str(fields.get("path") or ""), bool(fields.get("create")))


def merged(rules: list[Rule], more: Iterable[Rule]) -> list[Rule]:
    """Both, without those of `more` that are there; raises KustomizeError if two rules differ only
    in whether they create the field."""
    result = list(rules)
    for rule in more:
        present = next((old for old in result if old.covers(rule)), None)
        if present is None:
            result.append(rule)
        elif present.creates != rule.creates:
            raise KustomizeError(f"two rules differ about create of the field {rule.path}")
    return result


def split(path: str, separator: str = "/") -> list[str]:
    """The steps of a path. A separator after a backslash is part of a step."""
    parts = path.split(separator)
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    steps = parts[:1]
    for part in parts[1:]:
        if steps[-1].endswith("\\"):
            steps[-1] = steps[-1][:-1] + separator + part
        else:
            steps.append(part)
    return steps


def change(value: Object, rule: Rule, setter: Change, new: Callable[[], Any] | None = None) -> None:
    """Replace the field, wherever the path leads, by what `setter` makes of it. `new` makes the
    value of a field that the rule creates. Raises KustomizeError if the path meets a scalar."""
    if not rule.kind.selects(kind_of(value)):
        return
    steps = split(rule.path)
    try:
        _walk(value, steps, setter, new if rule.creates else None)
    except _Misfit:
        raise KustomizeError(
            f"{value.get('kind')} {(value.get('metadata') or {}).get('name')}: the field"
            f" {rule.path} leads into a value that is neither an object nor a list"
        ) from None


class _Misfit(Exception):
    pass


def _walk(value: Any, steps: list[str], setter: Change, new: Callable[[], Any] | None) -> None:
    if value is None:
        return
    if isinstance(value, list):
        for item in value:
            _walk(item, steps, setter, new)
        return
    if not isinstance(value, dict):
        raise _Misfit
    name, is_list = steps[0].removesuffix("[]"), steps[0].endswith("[]")
    if not name:
        raise KustomizeError("a path has an empty step")
    is_last = len(steps) == 1
    if value.get(name) is None:
        if is_list or new is None:
            if name in value and is_last:
                value[name] = setter(None)
            return
        value[name] = new() if is_last else {}
    if is_last:
        value[name] = setter(value[name])
    else:
        _walk(value[name], steps[1:], setter, new)


def change_lists(value: Any, names: tuple[str, ...], found: Callable[[list[Any]], None]) -> None:
    """Call `found` with each list under one of these names, wherever it is."""
    if isinstance(value, dict):
        for name, item in value.items():
            change_lists(item, names, found)
            if name in names and isinstance(item, list):
                found(item)
    elif isinstance(value, list):
        for item in value:
            change_lists(item, names, found)
