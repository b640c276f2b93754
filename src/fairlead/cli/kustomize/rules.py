"""The fields that transformations concern: the usual ones, and those of configuration files and
descriptions of custom kinds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson

from fairlead.base.files import text_beside
from fairlead.cli.kustomize.definition import FIELD, check_form
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.fields import Rule, merged, rule_of
from fairlead.cli.kustomize.files import Folder, one_document
from fairlead.cli.kustomize.identity import Kind

_SECTIONS = (
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "templateLabels",
    "commonAnnotations",
    "varReference",
    "images",
    "replicas",
)
_REFERENCES = "nameReference"
_FORM: dict[str, Any] = {
    **{name: [FIELD] for name in _SECTIONS},
    _REFERENCES: [
        {"group": str, "version": str, "kind": str, "fieldSpecs": [FIELD]},
    ],
}
_MAX_DEPTH = 64


class Rules:
    """The rules of each section; and for kinds that others refer to, where the references are."""

    def __init__(self) -> None:
        self.sections: dict[str, list[Rule]] = {name: [] for name in _SECTIONS}
        self.references: dict[Kind, list[Rule]] = {}

    def add(self, other: Rules) -> None:
        """Raises KustomizeError if they contradict each other."""
        for name, rules in other.sections.items():
            self.sections[name] = sorted(
                merged(self.sections[name], rules), key=lambda rule: rule.kind.order()
            )
        for kind, rules in other.references.items():
            self.references[kind] = merged(self.references.get(kind, []), rules)
        self.references = dict(sorted(self.references.items(), key=lambda item: item[0].order()))

    def __getitem__(self, section: str) -> list[Rule]:
        return self.sections[section]


def usual_rules() -> Rules:
    """A copy of the rules of `rules.table`."""
    rules = Rules()
    for section, kind, rule in _table():
        if section == _REFERENCES:
            rules.references.setdefault(kind, []).append(rule)
        else:
            rules.sections[section].append(rule)
    return rules


@cache
def _table() -> list[tuple[str, Kind, Rule]]:
    """The rows of `rules.table`. A row has kinds and, indented below, their fields."""
    found: list[tuple[str, Kind, Rule]] = []
    section, target, kinds, prefix = "", Kind(), [Kind()], [""]
    for line in text_beside(__file__, "rules.table").splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if not line.startswith(" "):
            section, target = words[0], _kind(words[1]) if len(words) > 1 else Kind()
            continue
        if line.startswith("      "):
            for path in words:
                name = path.removesuffix("!")
                for kind in kinds:
                    for before in prefix:
                        rule = Rule(kind, f"{before}{name}", path != name)
                        found.append((section, target, rule))
            continue
        kinds = [_kind(word) for word in words[0].split(",")]
        prefix = words[1].split(",") if len(words) > 1 else [""]
    return found


def _kind(text: str) -> Kind:
    """The kind of `group:version:Kind`, of which parts may be empty; `*` is any."""
    if text == "*":
        return Kind()
    group, version, kind = ("::" + text).split(":")[-3:]
    return Kind(group, version, kind)


def configured(folder: Folder, names: list[str]) -> Rules:
    """The rules of configuration files; raises KustomizeError."""
    result = Rules()
    for name in names:
        where = str(folder.path / name)
        fields = check_form(one_document(folder.read(name), where) or {}, _FORM, where)
        rules = Rules()
        for section in _SECTIONS:
            rules.sections[section] = [rule_of(entry) for entry in fields.get(section) or ()]
        for entry in fields.get(_REFERENCES) or ():
            found = [rule_of(field) for field in entry.get("fieldSpecs") or ()]
            rules.references[rule_of(entry).kind] = found
        result.add(rules)
    return result


# Descriptions of custom kinds: OpenAPI definitions whose extensions mark fields.


def described(folder: Folder, names: list[str]) -> Rules:
    """The rules of the files under `crds`; raises KustomizeError."""
    result = Rules()
    for name in names:
        where = str(folder.path / name)
        content = folder.read(name)
        try:
            types = orjson.loads(content) if content[:1] == b"{" else one_document(content, where)
        except orjson.JSONDecodeError as error:
            raise KustomizeError(f"{where}: {error}") from None
        if not isinstance(types, dict):
            raise KustomizeError(f"{where} has no definitions of types")
        for type_name in types:
            if {"kind", "apiVersion", "metadata"} <= _properties(types, type_name).keys():
                rules = Rules()
                kind = Kind("", "", type_name.rpartition(".")[2])
                for section, target, rule in _marked(types, type_name, kind, ()):
                    if section == _REFERENCES:
                        rules.references[target] = merged(rules.references.get(target, []), [rule])
                    else:
                        rules.sections[section] = merged(rules.sections[section], [rule])
                result.add(rules)
    return result


_MARKS = {
    "x-kubernetes-annotation": "commonAnnotations",
    "x-kubernetes-label-selector": "commonLabels",
    "x-kubernetes-identity": "namePrefix",
}
_REFERENCE = "x-kubernetes-object-ref-"


def _properties(types: dict[str, Any], name: str) -> dict[str, Any]:
    entry = types.get(name)
    schema = entry.get("Schema") or entry.get("schema") if isinstance(entry, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _marked(
    types: dict[str, Any], name: str, kind: Kind, path: tuple[str, ...]
) -> Iterator[tuple[str, Kind, Rule]]:
    if len(path) > _MAX_DEPTH:
        raise KustomizeError(f"the type {name} is nested too deep")
    for field, schema in _properties(types, name).items():
        if not isinstance(schema, dict):
            continue
        here = (*path, field)
        for mark, section in _MARKS.items():
            if mark in schema:
                yield section, Kind(), Rule(kind, "/".join(here))
        version, target = schema.get(f"{_REFERENCE}api-version"), schema.get(f"{_REFERENCE}kind")
        if version is not None and target is not None:
            key = schema.get(f"{_REFERENCE}name-key") or "name"
            yield (
                _REFERENCES,
                Kind("", str(version), str(target)),
                Rule(kind, "/".join((*here, str(key)))),
            )
        if "$ref" in schema:
            yield from _marked(types, str(schema["$ref"]), kind, here)
