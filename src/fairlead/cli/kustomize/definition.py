"""The kustomization file: which fields it may have, and of which form."""

from __future__ import annotations

import math
from typing import Any

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.files import Folder, one_document

_OPTIONS = {
    "labels": {str: str},
    "annotations": {str: str},
    "disableNameSuffixHash": bool,
    "immutable": bool,
}
_GENERATOR = {
    "name": str,
    "namespace": str,
    "behavior": str,
    "literals": [str],
    "files": [str],
    "envs": [str],
    "env": str,
    "options": _OPTIONS,
}
_KIND = {"group": str, "version": str, "kind": str}
_SELECTOR = {
    **_KIND,
    "name": str,
    "namespace": str,
    "labelSelector": str,
    "annotationSelector": str,
}
_PATCH = {
    "path": str,
    "patch": str,
    "target": _SELECTOR,
    "options": {"allowNameChange": bool, "allowKindChange": bool},
}
_FIELD_OPTIONS = {"delimiter": str, "index": int, "encoding": str, "create": bool}
_IMAGE = {"name": str, "newName": str, "newTag": str, "tagSuffix": str, "digest": str}
_REPLACEMENT = {
    "path": str,
    "sourceValue": str,
    "source": {
        **_KIND,
        "name": str,
        "namespace": str,
        "fieldPath": str,
        "options": _FIELD_OPTIONS,
    },
    "targets": [
        {"select": _SELECTOR, "reject": [_SELECTOR], "fieldPaths": [str], "options": _FIELD_OPTIONS}
    ],
}
FIELD = {**_KIND, "path": str, "create": bool}
_LABELS = {
    "pairs": {str: str},
    "includeSelectors": bool,
    "includeTemplates": bool,
    "fields": [FIELD],
}
_VARIABLE = {
    "name": str,
    "objref": {**_KIND, "apiVersion": str, "name": str, "namespace": str},
    "fieldref": {"fieldPath": str},
}
# Fields and their forms: a type, [form] for a list, {str: form} for a map, else an object.
FORMS: dict[str, Any] = {
    "apiVersion": str,
    "kind": str,
    "metadata": dict,
    "resources": [str],
    "bases": [str],
    "components": [str],
    "crds": [str],
    "configurations": [str],
    "openapi": {"version": str, "path": str},
    "namePrefix": str,
    "nameSuffix": str,
    "namespace": str,
    "commonLabels": {str: str},
    "labels": [_LABELS],
    "commonAnnotations": {str: str},
    "patches": [_PATCH],
    "patchesStrategicMerge": [str],
    "patchesJson6902": [_PATCH],
    "images": [_IMAGE],
    "imageTags": [_IMAGE],
    "replicas": [{"name": str, "count": int}],
    "replacements": [_REPLACEMENT],
    "vars": [_VARIABLE],
    "configMapGenerator": [_GENERATOR],
    "secretGenerator": [{**_GENERATOR, "type": str}],
    "generatorOptions": _OPTIONS,
    "sortOptions": {
        "order": str,
        "legacySortOptions": {"orderFirst": [str], "orderLast": [str]},
    },
    "buildMetadata": [str],
    "generators": [str],
    "transformers": [str],
}
_REFUSED = {
    "validators": "plugins are not run",
    "helmCharts": "charts are not rendered: give the output of helm template as a resource",
    "helmGlobals": "charts are not rendered",
    "helmChartInflationGenerator": "charts are not rendered",
}
_OLD = {
    "bases": "resources",
    "commonLabels": "labels",
    "imageTags": "images",
    "patchesJson6902": "patches",
    "patchesStrategicMerge": "patches",
    "vars": "replacements",
}
_KINDS = {
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Component": "kustomize.config.k8s.io/v1alpha1",
}
_NAMES = {str: "a text", int: "a whole number", bool: "true or false", dict: "an object"}


class Definition:
    """A kustomization file that has been checked."""

    where: str
    is_component: bool
    _fields: dict[str, Any]

    def __init__(self, folder: Folder) -> None:
        name, content = folder.kustomization()
        self.where = str(folder.path / name)
        fields = one_document(content, self.where)
        if fields is None or fields == {}:
            raise KustomizeError(f"{self.where} is empty")
        if not isinstance(fields, dict):
            raise KustomizeError(f"{self.where} is not an object")
        for field, why in _REFUSED.items():
            if fields.get(field):
                raise KustomizeError(f"{self.where}: {field} is not supported: {why}")
        self._fields = {key: value for key, value in fields.items() if key not in _REFUSED}
        self._fields = check_form(self._fields, FORMS, self.where)
        self._check_kind()
        self._check_contents()

    @classmethod
    def of(cls, fields: dict[str, Any], where: str) -> Definition:
        """One with these fields, for a part of a build that has no file of its own; raises
        KustomizeError."""
        definition = cls.__new__(cls)
        definition.where = where
        definition._fields = check_form(fields, FORMS, where)
        return definition

    def _check_kind(self) -> None:
        kind = self._fields.get("kind") or "Kustomization"
        if kind not in _KINDS:
            raise KustomizeError(f"{self.where}: kind is {kind}, not {' or '.join(_KINDS)}")
        version = self._fields.get("apiVersion") or _KINDS[kind]
        if version != _KINDS[kind]:
            raise KustomizeError(
                f"{self.where}: apiVersion of {kind} is {version}, not {_KINDS[kind]}"
            )
        self.is_component = kind == "Component"

    def _check_contents(self) -> None:
        if not any(
            self._fields.get(field) for field in FORMS if field not in ("apiVersion", "kind")
        ):
            raise KustomizeError(f"{self.where} is empty")
        others = [name for name in self.texts("buildMetadata") if name != "managedByLabel"]
        if others:
            raise KustomizeError(f"{self.where}: buildMetadata {others[0]} is not supported")

    def warnings(self) -> list[str]:
        """What to say of outdated fields."""
        return [
            f"{self.where}: {old} is outdated, use {new}"
            for old, new in _OLD.items()
            if self._fields.get(old) is not None
        ]

    def text(self, field: str) -> str:
        return str(self._fields.get(field) or "")

    def texts(self, *fields: str) -> list[str]:
        return [item for field in fields for item in self._fields.get(field) or () if item]

    def items(self, *fields: str) -> list[dict[str, Any]]:
        return [item for field in fields for item in self._fields.get(field) or () if item]

    def map(self, field: str) -> dict[str, Any]:
        return self._fields.get(field) or {}


def check_form(value: Any, form: Any, where: str) -> Any:
    """The value, with its fields called as in the form, whose case does not matter; raises
    KustomizeError if it is not of this form. Null is as if it was not there."""
    if value is None:
        return None
    if isinstance(form, list):
        if not isinstance(value, list):
            raise KustomizeError(f"{where}: a list is needed, not {_shown(value)}")
        return [check_form(item, form[0], f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(form, dict):
        if not isinstance(value, dict):
            raise KustomizeError(f"{where}: an object is needed, not {_shown(value)}")
        if str in form:
            return {
                key: check_form(item, form[str], f"{where}: {key}") for key, item in value.items()
            }
        names = {name.lower(): name for name in form}
        checked = {}
        for key, item in value.items():
            name = key if key in form else names.get(key.lower())
            if name is None:
                raise KustomizeError(f"{where}: unknown field {key}")
            checked[name] = check_form(item, form[name], f"{where}: {key}")
        return checked
    if not isinstance(value, form) or (form is int and isinstance(value, bool)):
        raise KustomizeError(f"{where}: {_NAMES[form]} is needed, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, float) and math.isfinite(value):
        return f"the number {value:g}: quote it"
    return f"{value!r}"
