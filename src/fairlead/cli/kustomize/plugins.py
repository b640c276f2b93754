"""The generators and transformers that a kustomization configures in files of their own: those that
kustomize has built in. Programs are not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from fairlead.cli.kustomize import generators, replacements, transformations
from fairlead.cli.kustomize.definition import FIELD, FORMS, Definition, check_form
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.fields import Rule, change, rule_of
from fairlead.cli.kustomize.files import Folder, objects
from fairlead.cli.kustomize.patches import Patching
from fairlead.cli.kustomize.resources import Built, BuiltSet, Object, Selector
from fairlead.cli.kustomize.rules import Rules
from fairlead.cli.kustomize.schemas import Schemas

_BUILT_IN = "builtin"
_COMMON: dict[str, Any] = {"apiVersion": str, "kind": str, "metadata": dict}
_SPECS: dict[str, Any] = {"fieldSpecs": [FIELD]}
_GENERATORS = {"ConfigMapGenerator": "configMapGenerator", "SecretGenerator": "secretGenerator"}


class Plugins:
    """The plugins of one kustomization. `build` returns the objects of another one, which may hold
    configurations of plugins too."""

    def __init__(
        self,
        definition: Definition,
        folder: Folder,
        schemas: Schemas,
        build: Callable[[str], list[Object]],
    ) -> None:
        self._definition = definition
        self._folder = folder
        self._schemas = schemas
        self._build = build

    def generate(self) -> Iterator[Built]:
        """The objects of `generators`; raises KustomizeError."""
        for config in self._configs("generators"):
            field = _GENERATORS.get(config.kind)
            if field is None:
                raise config.unknown("generator", _GENERATORS)
            own = {key: value for key, value in config.fields.items() if key not in _COMMON}
            metadata = config.fields.get("metadata") or {}
            named = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
            entry = check_form({**own, **named}, FORMS[field][0], config.where)
            kind = config.kind.removesuffix("Generator")
            yield generators.generate(kind, entry, {}, self._folder)

    def transform(self, items: BuiltSet) -> None:
        """Do what `transformers` say; raises KustomizeError."""
        for config in self._configs("transformers"):
            transformer = _TRANSFORMERS.get(config.kind)
            if transformer is None:
                raise config.unknown("transformer", _TRANSFORMERS)
            fields = check_form(config.fields, {**_COMMON, **transformer.form}, config.where)
            transformer.run(_Task(items, fields, config.where, self._folder, self._schemas))

    def _configs(self, field: str) -> Iterator[_Config]:
        for name in self._definition.texts(field):
            where = f"{self._definition.where}: {field}"
            if ": " in name or "\n" in name:
                values = objects(name, where)
            elif self._folder.has_file(name):
                where = str(self._folder.path / name)
                values = objects(self._folder.read(name), where)
            else:
                values = self._build(name)
            for value in values:
                yield _Config(value, where)


class _Config:
    """The configuration of one plugin."""

    def __init__(self, fields: Object, where: str) -> None:
        self.kind = str(fields.get("kind"))
        self.fields = fields
        self.where = f"{where}: {self.kind}"
        if fields.get("apiVersion") != _BUILT_IN:
            raise KustomizeError(
                f"{self.where} is not supported: plugins are not run, only those of apiVersion"
                f" {_BUILT_IN}"
            )

    def unknown(self, what: str, known: dict[str, Any]) -> KustomizeError:
        return KustomizeError(
            f"{self.where} is not supported: a {what} is one of {', '.join(sorted(known))}"
        )


# What transformers do.


class _Task(NamedTuple):
    """The objects to change, and the configuration that says how."""

    items: BuiltSet
    fields: Object
    where: str
    folder: Folder
    schemas: Schemas

    def rules(self, *sections: str) -> Rules:
        """The fieldSpecs, as the rules of some sections."""
        rules = Rules()
        rules.sections |= dict.fromkeys(sections, self.specs())
        return rules

    def specs(self) -> list[Rule]:
        return [rule_of(spec) for spec in self.fields.get("fieldSpecs") or ()]

    def as_kustomization(self, **fields: Any) -> Definition:
        return Definition.of(fields, self.where)

    def patching(self, **fields: Any) -> Patching:
        return Patching(self.as_kustomization(**fields), self.folder, self.schemas)


def _prefix(task: _Task) -> None:
    rules = task.rules("namePrefix", "nameSuffix")
    if prefix := task.fields.get("prefix"):
        transformations.add_prefix(task.items, prefix, rules)
    if suffix := task.fields.get("suffix"):
        transformations.add_suffix(task.items, suffix, rules)


def _namespace(task: _Task) -> None:
    metadata = task.fields.get("metadata") or {}
    if namespace := metadata.get("namespace"):
        transformations.set_namespace(task.items, str(namespace), task.rules("namespace"))


def _entries(field: str) -> Callable[[_Task], None]:
    return lambda task: transformations.set_entries(
        task.items, task.fields.get(field) or {}, task.specs()
    )


def _image(task: _Task) -> None:
    transformations.set_image(task.items, task.fields.get("imageTag") or {}, task.rules("images"))


def _replicas(task: _Task) -> None:
    entry = task.fields.get("replica") or {}
    transformations.set_replicas(task.items, entry, task.rules("replicas"))


def _patch(task: _Task) -> None:
    entry = {key: value for key, value in task.fields.items() if key not in _COMMON}
    task.patching(patches=[entry]).apply(task.items)


def _json_patch(task: _Task) -> None:
    entry = {"target": task.fields.get("target"), "path": task.fields.get("path")}
    entry["patch"] = task.fields.get("jsonOp")
    task.patching(patchesJson6902=[entry]).apply_listed(task.items)


def _merge_patches(task: _Task) -> None:
    patches = [*(task.fields.get("paths") or ()), task.fields.get("patches")]
    task.patching(patchesStrategicMerge=[patch for patch in patches if patch]).merge_listed(
        task.items
    )


def _replacements(task: _Task) -> None:
    definition = task.as_kustomization(replacements=task.fields.get("replacements"))
    replacements.replace(task.items, definition, task.folder)


def _add_value(task: _Task) -> None:
    """Set a field of the selected objects, or one step of the path that the field holds. Without
    value, it becomes the name of the folder."""
    value = task.fields.get("value") or task.folder.path.resolve().name
    targets = task.fields.get("targets")
    if not targets or not all(target.get("fieldPath") for target in targets):
        raise KustomizeError(f"{task.where}: give targets, each with a fieldPath")
    for index, target in enumerate(targets):
        selector = Selector(target.get("selector") or {}, f"{task.where}: targets[{index}]")
        rule = rule_of({"path": target.get("fieldPath"), "create": True})
        position = target.get("filePathPosition") or 0
        for item in filter(selector.matches, task.items):
            change(item.value, rule, partial(_with_step, value, position), str)


def _with_step(value: str, position: int, old: Any) -> str:
    """The value; or the path `old` with it as the step at this position, counted from 1."""
    if not position:
        return value
    steps = str(old).split("/") if old else []
    return "/".join((*steps[: position - 1], value, *steps[position - 1 :]))


def _hash(task: _Task) -> None:
    """Nothing: generated objects get their hashes at the end of every build."""


class _Transformer(NamedTuple):
    form: dict[str, Any]
    run: Callable[[_Task], None]


_AFFIXES = _Transformer({"prefix": str, "suffix": str, **_SPECS}, _prefix)
_VALUE_TARGET = {
    "selector": FORMS["patches"][0]["target"],
    "fieldPath": str,
    "filePathPosition": int,
}
_TRANSFORMERS = {
    "AnnotationsTransformer": _Transformer(
        {"annotations": {str: str}, **_SPECS}, _entries("annotations")
    ),
    "HashTransformer": _Transformer({}, _hash),
    "ImageTagTransformer": _Transformer({"imageTag": FORMS["images"][0], **_SPECS}, _image),
    "LabelTransformer": _Transformer({"labels": {str: str}, **_SPECS}, _entries("labels")),
    "NamespaceTransformer": _Transformer(_SPECS, _namespace),
    "PatchJson6902Transformer": _Transformer(
        {"target": FORMS["patches"][0]["target"], "path": str, "jsonOp": str}, _json_patch
    ),
    "PatchStrategicMergeTransformer": _Transformer(
        {"paths": [str], "patches": str}, _merge_patches
    ),
    "PatchTransformer": _Transformer(FORMS["patches"][0], _patch),
    "PrefixSuffixTransformer": _AFFIXES,
    "PrefixTransformer": _AFFIXES,
    "ReplacementTransformer": _Transformer({"replacements": FORMS["replacements"]}, _replacements),
    "ReplicaCountTransformer": _Transformer({"replica": FORMS["replicas"][0], **_SPECS}, _replicas),
    "SuffixTransformer": _AFFIXES,
    "ValueAddTransformer": _Transformer({"value": str, "targets": [_VALUE_TARGET]}, _add_value),
}
