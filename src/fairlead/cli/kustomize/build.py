"""Builds a kustomization: collects the objects of its files, bases and generators, changes them as
it says, and orders them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlead.cli.kustomize import generators, references, replacements, transformations, variables
from fairlead.cli.kustomize.definition import Definition
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.files import Budget, Folder, objects
from fairlead.cli.kustomize.identity import kind_of
from fairlead.cli.kustomize.patches import Patching
from fairlead.cli.kustomize.plugins import Plugins
from fairlead.cli.kustomize.resources import Built, BuiltSet, Object, text_map
from fairlead.cli.kustomize.rules import Rules, configured, described, usual_rules
from fairlead.cli.kustomize.schemas import Schemas, described_by

_LOCAL = "config.kubernetes.io/local-config"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_MAX_DEPTH = 100
_ORDERS = ("fifo", "legacy")
_TYPES = "v1.21.2"  # the version of built-in types that a kustomization may name


class Result:
    """The objects of a kustomization, and warnings about it."""

    def __init__(self, items: list[Object], warnings: list[str]) -> None:
        self.items = items
        self.warnings = warnings


def build(folder: str) -> Result:
    """Raises KustomizeError."""
    path = Path(folder)
    if not folder or not path.is_dir():
        raise KustomizeError(f"{folder} is no folder with a kustomization")
    root = _Target(Folder(path.resolve(), Budget()), Schemas({}), [])
    try:
        collected = root.collect(_Collected())
    except RecursionError:
        raise KustomizeError(f"{folder}: an object is nested too deep") from None
    _finish(collected, root)
    return Result([item.value for item in collected.items], root.warnings)


class _Collected:
    """The objects so far, the rules that their kustomizations added, and their variables."""

    def __init__(self) -> None:
        self.items = BuiltSet()
        self.rules = Rules()
        self.variables: variables.Variables = {}

    def add(self, other: _Collected) -> None:
        self.items.extend(other.items)
        self.rules.add(other.rules)
        variables.add(self.variables, other.variables)


class _Target:
    """One kustomization or component of the build."""

    def __init__(
        self, folder: Folder, schemas: Schemas, warnings: list[str], depth: int = 0
    ) -> None:
        if depth > _MAX_DEPTH:
            raise KustomizeError(f"{folder.path}: more than {_MAX_DEPTH} bases lead to it")
        self.definition = Definition(folder)
        self.folder = folder
        self.warnings = warnings
        self._depth = depth
        self._schemas = schemas
        warnings += self.definition.warnings()
        openapi = self.definition.map("openapi")
        if openapi.get("version") not in (None, "", _TYPES):
            raise KustomizeError(
                f"{self.definition.where}: openapi: version is {openapi['version']}: there is only"
                f" {_TYPES}"
            )
        if openapi.get("path"):
            schemas.described.update(described_by(folder, openapi["path"]))

    def collect(self, collected: _Collected) -> _Collected:
        """Add to what was collected, and transform all of it; raises KustomizeError."""
        definition, folder = self.definition, self.folder
        self._add_resources(collected)
        rules = usual_rules()
        if names := definition.texts("configurations"):
            rules.add(configured(folder, names))
        collected.rules.add(rules)
        collected.rules.add(described(folder, definition.texts("crds")))
        general = definition.map("generatorOptions")
        for kind, field in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
            for entry in definition.items(field):
                collected.items.absorb(generators.generate(kind, entry, general, folder))
        plugins = Plugins(definition, folder, self._schemas, self._configurations)
        for generated in plugins.generate():
            collected.items.absorb(generated)
        for name in definition.texts("components"):
            target = self._below(name)
            if not target.definition.is_component:
                raise KustomizeError(f"{target.definition.where} is no Component")
            collected = target.collect(collected)
        self._transform(collected.items, collected.rules)
        plugins.transform(collected.items)
        variables.declare(
            collected.variables, collected.items, definition.items("vars"), definition.where
        )
        return collected

    def _configurations(self, name: str) -> list[Object]:
        """The objects of another kustomization, which configure plugins."""
        collected = self._below(name).collect(_Collected())
        return [item.value for item in collected.items]

    def _below(self, name: str) -> _Target:
        return _Target(self.folder.folder(name), self._schemas, self.warnings, self._depth + 1)

    def _add_resources(self, collected: _Collected) -> None:
        for name in self.definition.texts("resources", "bases"):
            if self.folder.has_file(name):
                where = str(self.folder.path / name)
                found = objects(self.folder.read(name), where)
                collected.items.extend(map(Built, found))
                continue
            target = self._below(name)
            if target.definition.is_component:
                raise KustomizeError(
                    f"{target.definition.where} is a Component: name it in components"
                )
            collected.add(target.collect(_Collected()))

    def _transform(self, items: BuiltSet, rules: Rules) -> None:
        definition = self.definition
        patching = Patching(definition, self.folder, self._schemas)
        patching.merge_listed(items)
        patching.apply(items)
        if namespace := definition.text("namespace"):
            transformations.set_namespace(items, namespace, rules)
        if prefix := definition.text("namePrefix"):
            transformations.add_prefix(items, prefix, rules)
        if suffix := definition.text("nameSuffix"):
            transformations.add_suffix(items, suffix, rules)
        transformations.add_labels(items, definition, rules)
        transformations.add_annotations(items, definition.map("commonAnnotations"), rules)
        patching.apply_listed(items)
        for entry in definition.items("replicas"):
            transformations.set_replicas(items, entry, rules)
        for entry in definition.items("images", "imageTags"):
            transformations.set_image(items, entry, rules)
        replacements.replace(items, definition, self.folder)


def _finish(collected: _Collected, root: _Target) -> None:
    """What is done once, after all kustomizations: hashes, references, variables, order."""
    items = collected.items
    for item in items:
        if item.is_hashed:
            transformations.hash_name(item, generators.content_hash(item.value))
    references.update(items, collected.rules)
    for name in variables.resolve(items, collected.variables, collected.rules):
        root.warnings.append(f"nothing uses the variable {name}")
    for item in items:
        annotations = text_map(item.metadata.get("annotations"))
        item.metadata.pop("annotations", None)
        if annotations:
            item.metadata["annotations"] = annotations
    items.items[:] = [item for item in items if not _is_local(item)]
    _order(items, root.definition)
    if root.definition.texts("buildMetadata"):
        transformations.add_label(items, _MANAGED_BY, "fairlead")


def _is_local(item: Built) -> bool:
    value = text_map(item.metadata.get("annotations")).get(_LOCAL)
    return value is not None and value != "false"


def _order(items: BuiltSet, definition: Definition) -> None:
    options = definition.map("sortOptions")
    order = options.get("order") or ("" if options else "legacy")
    lists: Any = options.get("legacySortOptions") or {}
    if order not in _ORDERS:
        raise KustomizeError(f"{definition.where}: sortOptions: order is {' or '.join(_ORDERS)}")
    if order == "fifo" and options.get("legacySortOptions") is not None:
        raise KustomizeError(f"{definition.where}: sortOptions: the order fifo has no lists")
    if order == "legacy":
        first, last = (
            (lists.get("orderFirst") or [], lists.get("orderLast") or []) if lists else (None, None)
        )
        items.items.sort(
            key=lambda item: (kind_of(item.value).order(first, last), item.identity.order())
        )
