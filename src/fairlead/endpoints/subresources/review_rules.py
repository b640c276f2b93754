"""The rules of access reviews."""

from __future__ import annotations

from typing import Any

from fairlead.kinds.causes import Causes, GoValue, quote

Object = dict[str, Any]

_NULL = GoValue('"null"')


def check_self_subject_access_review(value: Object, causes: Causes) -> None:
    _check_attributes(value["spec"], causes)
    _check_metadata(value["metadata"], causes, "must be empty")


def check_subject_access_review(value: Object, causes: Causes) -> None:
    _check_spec(value["spec"], causes)
    _check_metadata(value["metadata"], causes, "must be empty")


def check_local_subject_access_review(value: Object, causes: Causes) -> None:
    spec, metadata = value["spec"], value["metadata"]
    _check_spec(spec, causes)
    others = {name: field for name, field in metadata.items() if name != "namespace"}
    _check_metadata(others, causes, "must be empty except for namespace")
    asked = spec.get("resourceAttributes")
    if asked is not None and asked.get("namespace", "") != metadata.get("namespace", ""):
        path, found = "spec.resourceAttributes.namespace", asked.get("namespace", "")
        causes.invalid(path, found, "must match metadata.namespace")
    path_asked = spec.get("nonResourceAttributes")
    if path_asked is not None:
        detail = "disallowed on this kind of request"
        causes.invalid("spec.nonResourceAttributes", _shown(path_asked), detail)


def _check_spec(spec: Object, causes: Causes) -> None:
    _check_attributes(spec, causes)
    if not spec.get("user") and not spec.get("groups"):
        causes.invalid("spec.user", "", "at least one of user or group must be specified")


def _check_attributes(spec: Object, causes: Causes) -> None:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        causes.invalid("spec.nonResourceAttributes", _shown(path), detail)
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.invalid("spec.resourceAttributes", _NULL, detail)


def _check_metadata(metadata: Object, causes: Causes, detail: str) -> None:
    if any(field for name, field in metadata.items() if name != "managedFields"):
        causes.invalid("metadata", GoValue(_shown_metadata(metadata)), detail)


def _shown(path: Object) -> GoValue:
    return GoValue(
        f"authorization.NonResourceAttributes{{Path:{quote(path.get('path', ''))},"
        f" Verb:{quote(path.get('verb', ''))}}}"
    )


def _shown_metadata(metadata: Object) -> str:
    """The texts of the metadata; what else is in it is left out."""
    names = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion")
    shown = {name[:1].upper() + name[1:]: quote(metadata.get(name, "")) for name in names}
    shown["UID"] = shown.pop("Uid")
    return "v1.ObjectMeta{" + ", ".join(f"{name}:{text}" for name, text in shown.items()) + "}"
