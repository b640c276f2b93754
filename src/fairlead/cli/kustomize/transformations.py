"""Transformations of all objects: namespace, prefix and suffix of names, labels, annotations,
replicas and images."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from fairlead.cli.kustomize.definition import Definition
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.fields import Rule, change, change_lists, merged, rule_of
from fairlead.cli.kustomize.identity import Kind
from fairlead.cli.kustomize.resources import Built, BuiltSet, Object, as_text
from fairlead.cli.kustomize.rules import Rules

_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_LABELS = Rule(Kind(), "metadata/labels", True)
_UNPREFIXED = (
    Kind("", "", "CustomResourceDefinition"),
    Kind("apiregistration.@", "", "APIService"),
    Kind("", "", "Namespace"),
)
_CONTAINERS = ("containers", "initContainers")


def set_namespace(items: BuiltSet, namespace: str, rules: Rules) -> None:
    """Raises KustomizeError if two objects become the same."""
    for item in items:
        item.remember()
        if not item.kind.is_cluster_scoped():
            item.metadata["namespace"] = namespace
        is_binding = item.kind.kind in _BINDINGS
        if is_binding:
            subjects = item.value.get("subjects")
            for subject in subjects if isinstance(subjects, list) else ():
                if isinstance(subject, dict) and subject.get("name") == "default":
                    subject["namespace"] = namespace
        for rule in rules["namespace"]:
            if rule.path == "metadata/namespace":
                continue
            if rule.path == "metadata/name" and item.value.get("apiVersion") != "v1":
                continue
            if is_binding and rule.kind.kind in _BINDINGS and rule.path == "subjects/namespace":
                continue
            change(item.value, rule, lambda _: namespace, str)
        if len(items.matching_now(item.identity)) != 1:
            raise KustomizeError(
                f"two objects are called {item.identity} in the namespace {namespace}"
            )


def add_prefix(items: BuiltSet, prefix: str, rules: Rules) -> None:
    _affix(items, rules["namePrefix"], prefix, "")


def add_suffix(items: BuiltSet, suffix: str, rules: Rules) -> None:
    _affix(items, rules["nameSuffix"], "", suffix)


def _affix(items: BuiltSet, rules: list[Rule], prefix: str, suffix: str) -> None:
    for item in items:
        original = item.original.kind
        if any(kind.selects(original) for kind in _UNPREFIXED):
            continue
        for rule in rules:
            if not rule.kind.selects(original):
                continue
            if rule.path == "metadata/name":
                item.prefixes += [prefix] if prefix else []
                item.suffixes += [suffix] if suffix else []
                item.remember()
            change(item.value, rule, lambda name: f"{prefix}{as_text(name)}{suffix}")


def add_labels(items: BuiltSet, definition: Definition, rules: Rules) -> None:
    """The labels of `labels`, then of `commonLabels`."""
    for entry in definition.items("labels"):
        fields = merged([rule_of(field) for field in entry.get("fields") or ()], rules["labels"])
        if entry.get("includeSelectors"):
            fields = merged(fields, rules["commonLabels"])
        else:
            if entry.get("includeTemplates"):
                fields = merged(fields, rules["templateLabels"])
            fields = merged(fields, [_LABELS])
        set_entries(items, entry.get("pairs") or {}, fields)
    set_entries(items, definition.map("commonLabels"), rules["commonLabels"])


def add_annotations(items: BuiltSet, annotations: Object, rules: Rules) -> None:
    set_entries(items, annotations, rules["commonAnnotations"])


def add_label(items: BuiltSet, name: str, value: str) -> None:
    set_entries(items, {name: value}, [_LABELS])


def set_entries(items: BuiltSet, entries: Object, rules: list[Rule]) -> None:
    for item in items:
        for name, value in sorted(entries.items()):
            for rule in rules:
                change(item.value, rule, partial(_with_entry, name, value), dict)


def _with_entry(name: str, value: Any, present: Any) -> Any:
    if present is None:
        return None
    if not isinstance(present, dict):
        raise KustomizeError(f"the label or annotation {name} is for a field that is no object")
    present[name] = value or ""
    return present


def set_replicas(items: BuiltSet, entry: Object, rules: Rules) -> None:
    """Raises KustomizeError if there is no such workload."""
    name, count = entry.get("name") or "", entry.get("count") or 0
    is_found = False
    for rule in rules["replicas"]:
        for item in items.matching(
            lambda identity, rule=rule: identity.name == name and rule.kind.selects(identity.kind)  # type: ignore[misc]
        ):
            is_found = True
            change(item.value, rule, lambda _: count, int)
    if not is_found:
        raise KustomizeError(f"replicas are given for {name}, but no workload is called that")


# Images


def set_image(items: BuiltSet, entry: Object, rules: Rules) -> None:
    """Change the images of a name: in lists of containers anywhere, and in the fields of the
    rules."""
    try:
        pattern = re.compile(
            rf"{entry.get('name') or ''}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?"
        )
    except re.error as error:
        raise KustomizeError(f"images: {entry.get('name')!r}: {error}") from None
    renamed = partial(_renamed, entry, pattern)

    def in_containers(containers: list[Any]) -> None:
        for container in containers:
            if isinstance(container, dict) and "image" in container:
                container["image"] = renamed(container["image"])

    for item in items:
        if item.kind.kind == "CustomResourceDefinition":
            continue
        change_lists(item.value, _CONTAINERS, in_containers)
        for rule in rules["images"]:
            change(item.value, rule, renamed)


def _renamed(entry: Object, pattern: re.Pattern[str], image: Any) -> Any:
    if isinstance(image, (dict, list)):
        raise KustomizeError("an image is an object or a list")
    if image is None or not pattern.fullmatch(as_text(image)):
        return image
    name, tag, digest = _parts(as_text(image))
    name = entry.get("newName") or name
    new_tag, new_digest = entry.get("newTag") or "", entry.get("digest") or ""
    if new_tag or new_digest:
        tag, digest = new_tag, new_digest
    elif entry.get("tagSuffix"):
        tag, digest = f"{tag}{entry['tagSuffix']}", ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def _parts(image: str) -> tuple[str, str, str]:
    """The name, tag and digest of an image. A colon before the first slash is of a port."""
    slash = max(image.find("/"), 0)
    name, _, digest = image[slash:].partition("@")
    name, _, tag = name.partition(":")
    return image[:slash] + name, tag, digest


def hash_name(item: Built, digest: str) -> None:
    item.remember()
    item.metadata["name"] = f"{item.name}-{digest}"
