"""Replacements: copies of a field of one object into fields of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import orjson

from fairlead.cli.kustomize.definition import FORMS, Definition, check_form
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.fields import split
from fairlead.cli.kustomize.files import Folder, one_document
from fairlead.cli.kustomize.identity import Identity, Kind, neutral_group
from fairlead.cli.kustomize.resources import Built, BuiltSet, Object, Selector, as_text
from fairlead.codec.yaml_scalars import YamlError, plain

_DEFAULT_PATH = "metadata.name"
_ENTRY = re.compile(r"\[(.*?)=(.*)\]", re.DOTALL)
_INDEX = re.compile(r"[0-9]{1,6}")


class Slot:
    """A place in an object that holds a value."""

    def __init__(self, holder: Any, key: Any) -> None:
        self.holder = holder
        self.key = key

    @property
    def value(self) -> Any:
        return self.holder[self.key]

    @value.setter
    def value(self, value: Any) -> None:
        self.holder[self.key] = value


def replace(items: BuiltSet, definition: Definition, folder: Folder) -> None:
    """Raises KustomizeError if a source or a field of a target is missing."""
    for entry, where in _entries(definition, folder):
        value = _source_value(items, entry, where)
        for index, target in enumerate(entry["targets"]):
            _copy_to(items, target, value, f"{where}: targets[{index}]")


def _entries(definition: Definition, folder: Folder) -> Iterator[tuple[Object, str]]:
    for index, entry in enumerate(definition.items("replacements")):
        where = f"{definition.where}: replacements[{index}]"
        found = [entry]
        if path := entry.get("path"):
            if entry.get("source") or entry.get("targets"):
                raise KustomizeError(f"{where}: give either path, or source and targets")
            where = str(folder.path / path)
            document = one_document(folder.read(path), where)
            found = document if isinstance(document, list) else [document]
            found = check_form(found, [_form()], where)
        for item in found:
            has_value = item.get("sourceValue") is not None
            if has_value == bool(item.get("source")) or not item.get("targets"):
                raise KustomizeError(f"{where}: one source and at least one target are needed")
            yield item, where


def _form() -> Any:
    from_definition: Any = FORMS["replacements"]
    return {key: form for key, form in from_definition[0].items() if key != "path"}


def _source_value(items: BuiltSet, entry: Object, where: str) -> Any:
    if entry.get("sourceValue") is not None:
        return entry["sourceValue"]
    source = entry["source"]
    kind = Kind(
        neutral_group(source.get("group") or ""),
        source.get("version") or "",
        source.get("kind") or "",
    )
    name, namespace = source.get("name") or "", source.get("namespace") or ""

    def is_source(identity: Identity) -> bool:
        space = Identity(kind, name, namespace).space
        return (
            kind.selects(identity.kind)
            and name in ("", identity.name)
            and (not namespace or space == identity.space)
        )

    found = items.matching(is_source)
    if len(found) != 1:
        problem = "nothing" if not found else "several objects"
        raise KustomizeError(f"{where}: the source fits {problem}: {name or source.get('kind')}")
    path = source.get("fieldPath") or _DEFAULT_PATH
    slot = look_up(found[0].value, steps_of(path))
    if slot is None or slot.value in (None, {}, []):
        raise KustomizeError(f"{where}: {found[0].identity} has no {path}")
    return _part(slot.value, source.get("options") or {}, where)


def _part(value: Any, options: Object, where: str) -> Any:
    """The part of the value that the options choose."""
    if not options.get("delimiter"):
        return value
    if isinstance(value, (dict, list)):
        raise KustomizeError(f"{where}: only a scalar has a delimiter")
    parts, index = as_text(value).split(options["delimiter"]), options.get("index") or 0
    if not 0 <= index < len(parts):
        raise KustomizeError(f"{where}: {as_text(value)} has no part {index}")
    return parts[index]


def _copy_to(items: BuiltSet, target: Object, value: Any, where: str) -> None:
    if not target.get("select"):
        raise KustomizeError(f"{where}: a target needs select")
    selector = Selector(target["select"], where)
    rejected = [Selector(fields, where) for fields in target.get("reject") or ()]
    options = target.get("options") or {}
    for item in items:
        if not selector.fits_marks(item) or any(
            one.names_marks and one.fits_marks(item) for one in rejected
        ):
            continue
        identities = [item.identity, *item.earlier()]
        if any(
            one.names_object and one.fits_identity(item, identity)
            for one in rejected
            for identity in identities
        ):
            continue
        if any(selector.fits_identity(item, identity) for identity in identities):
            for path in target.get("fieldPaths") or (_DEFAULT_PATH,):
                _set(item, path, value, options, where)


def _set(item: Built, path: str, value: Any, options: Object, where: str) -> None:
    creates = bool(options.get("create"))
    steps = steps_of(path)
    if _set_inside(item, steps, value, options):
        return
    try:
        slots = list(_slots(Slot([item.value], 0), steps, creates, value))
    except _Misfit as error:
        raise KustomizeError(f"{where}: {item.identity}: {path}: {error}") from None
    if not slots:
        raise KustomizeError(f"{where}: {item.identity} has no field {path}")
    for slot in slots:
        slot.value = _written(slot.value, value, options, where)


def _written(old: Any, value: Any, options: Object, where: str) -> Any:
    """What a field holds afterwards. A scalar keeps its type."""
    value = deepcopy(value)
    if delimiter := options.get("delimiter"):
        if isinstance(old, (dict, list)):
            raise KustomizeError(f"{where}: only a scalar has a delimiter")
        parts, index = as_text(old).split(delimiter), options.get("index") or 0
        if index < 0:
            parts.insert(0, as_text(value))
        elif index >= len(parts):
            parts.append(as_text(value))
        else:
            parts[index] = as_text(value)
        value = delimiter.join(parts)
    if isinstance(value, (dict, list)) or isinstance(old, (dict, list)) or old is None:
        return value
    if isinstance(old, str):
        return as_text(value)
    try:
        return plain(as_text(value)) if isinstance(value, str) and value else value
    except YamlError:
        return value


# Paths such as spec.containers.[name=web].image


class _Misfit(Exception):
    pass


def steps_of(path: str) -> list[str]:
    """The steps of a path with dots. Dots in brackets are part of a step."""
    steps: list[str] = []
    parts = split(path, ".")
    while parts:
        step = parts.pop(0)
        if step.startswith("[") and not step.endswith("]"):
            while parts:
                step = f"{step}.{parts.pop(0)}"
                if step.endswith("]"):
                    break
            if "=" not in step:
                step = step.strip("[]")
        steps.append(step)
    return steps


def look_up(value: Any, steps: list[str]) -> Slot | None:
    """The one field at a path; None if there is none."""
    slot = Slot([value], 0)
    for step in steps:
        holder = slot.value
        if isinstance(holder, dict):
            if step not in holder:
                return None
            slot = Slot(holder, step)
            continue
        if not isinstance(holder, list):
            return None
        index = _index_in(holder, step)
        if index is None:
            return None
        slot = Slot(holder, index)
    return slot


def _index_in(items: list[Any], step: str) -> int | None:
    if _INDEX.fullmatch(step):
        return int(step) if int(step) < len(items) else None
    if step == "-":
        return len(items) - 1 if items else None
    if match := _ENTRY.fullmatch(step):
        for index, item in enumerate(items):
            found = item.get(match[1]) if match[1] and isinstance(item, dict) else item
            if not isinstance(found, (dict, list)) and as_text(found) == match[2]:
                return index
    return None


def _slots(slot: Slot, steps: list[str], creates: bool, value: Any) -> Iterator[Slot]:
    """All fields at a path, of which missing parts are created if `creates`."""
    if not steps:
        yield slot
        return
    step, rest = steps[0], steps[1:]
    holder = slot.value
    if _INDEX.fullmatch(step):
        yield from _at_index(slot, int(step), steps, creates, value)
    elif match := _ENTRY.fullmatch(step):
        if not isinstance(holder, list):
            if holder is not None:
                raise _Misfit(f"{step} is for a list")
            return
        fits = _fitting(match)
        found = [index for index, item in enumerate(holder) if fits(item)]
        if not found and creates:
            holder.append({match[1]: plain(match[2])} if match[1] else plain(match[2]))
            found = [len(holder) - 1]
        for index in found:
            yield from _slots(Slot(holder, index), rest if match[1] else [], creates, value)
    elif step == "*":
        if not isinstance(holder, list):
            raise _Misfit("* is for a list")
        for index in range(len(holder)):
            yield from _slots(Slot(holder, index), rest, creates, value)
    else:
        if holder is None and creates:
            holder = slot.value = {}
        if holder is None:
            return
        if not isinstance(holder, dict):
            raise _Misfit(f"{step} is for an object")
        if step not in holder:
            if not creates:
                return
            holder[step] = _new(rest, value)
        yield from _slots(Slot(holder, step), rest, creates, value)


def _at_index(
    slot: Slot, index: int, steps: list[str], creates: bool, value: Any
) -> Iterator[Slot]:
    holder = slot.value
    if not isinstance(holder, list):
        raise _Misfit(f"{index} is for a list")
    if creates and index == len(holder):
        holder.append(_new(steps[1:], value))
    if index >= len(holder):
        raise _Misfit(f"there are {len(holder)} items, and {index} is meant")
    yield from _slots(Slot(holder, index), steps[1:], creates, value)


def _new(rest: list[str], value: Any) -> Any:
    """A created value that the rest of the path can go into."""
    if not rest:
        return None if not isinstance(value, (dict, list)) else type(value)()
    is_list = _INDEX.fullmatch(rest[0]) or _ENTRY.fullmatch(rest[0]) or rest[0] == "*"
    return [] if is_list else {}


def _fitting(match: re.Match[str]) -> Callable[[Any], bool]:
    try:
        expression = re.compile(match[2])
    except re.error as error:
        raise _Misfit(f"{match[2]!r}: {error}") from None

    def fits(item: Any) -> bool:
        if match[1]:
            if not isinstance(item, dict) or item.get(match[1]) is None:
                return False
            item = item[match[1]]
        return not isinstance(item, (dict, list)) and bool(expression.search(as_text(item)))

    return fits


# Fields inside of JSON texts


def _set_inside(item: Built, steps: list[str], value: Any, options: Object) -> bool:
    """Set a field inside a text that is JSON, such as an entry of a ConfigMap; False if the path
    does not lead into one."""
    for count in range(1, len(steps)):
        slot = look_up(item.value, steps[:count])
        if slot is None or not isinstance(slot.value, str):
            continue
        text = slot.value
        if text.lstrip()[:1] not in ("{", "["):
            return False
        try:
            document = orjson.loads(text)
            creates = bool(options.get("create"))
            found = list(_slots(Slot([document], 0), steps[count:], creates, value))
        except (orjson.JSONDecodeError, _Misfit):
            return False
        if not found:
            return False
        for inner in found:
            inner.value = _written(inner.value, value, options, "")
        shape = orjson.OPT_SORT_KEYS
        if "\n" in text and "  " in text:
            shape |= orjson.OPT_INDENT_2
        slot.value = orjson.dumps(document, option=shape).decode()
        return True
    return False
