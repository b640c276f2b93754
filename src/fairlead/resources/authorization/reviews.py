"""Rules of the access reviews. They are not stored: their request handlers call these functions.
Errors about them name no kind and no object.
"""

from __future__ import annotations

from typing import Any

from fairlead.base.errors import bad_request
from fairlead.codec.types.names import label_value, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, go_composite, quote
from fairlead.resources.go_values import go_list, go_map
from fairlead.resources.rules import is_set_operator

_TEXTS = {
    "Name": "name",
    "GenerateName": "generateName",
    "Namespace": "namespace",
    "SelfLink": "selfLink",
    "UID": "uid",
    "ResourceVersion": "resourceVersion",
}


def check_subject_access_review(value: Object, causes: Causes) -> None:
    _check_attributes(value["spec"], causes)
    _check_subject(value["spec"], causes)
    _check_selectors(value["spec"], causes)
    _check_metadata(value["metadata"], (), "must be empty", causes)


def check_self_subject_access_review(value: Object, causes: Causes) -> None:
    _check_attributes(value["spec"], causes)
    _check_selectors(value["spec"], causes)
    _check_metadata(value["metadata"], (), "must be empty", causes)


def check_local_subject_access_review(value: Object, causes: Causes) -> None:
    """`metadata.namespace` is the namespace of the request."""
    spec = value["spec"]
    _check_attributes(spec, causes)
    _check_subject(spec, causes)
    _check_selectors(spec, causes)
    detail = "must be empty except for namespace"
    _check_metadata(value["metadata"], ("namespace",), detail, causes)
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None:
        namespace = resource.get("namespace", "")
        if namespace != value["metadata"].get("namespace", ""):
            path = "spec.resourceAttributes.namespace"
            causes.invalid(path, namespace, "must match metadata.namespace")
    if other is not None:
        detail = "disallowed on this kind of request"
        causes.invalid("spec.nonResourceAttributes", _format_attributes(other), detail)


def check_self_subject_rules_review(value: Object, causes: Causes) -> None:
    """Raises StatusError if the namespace is missing."""
    if not value["spec"].get("namespace"):
        raise bad_request("no namespace on request")


def _check_attributes(spec: dict[str, Any], causes: Causes) -> None:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        causes.invalid("spec.nonResourceAttributes", _format_attributes(other), detail)
    if resource is None and other is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.invalid("spec.resourceAttributes", None, detail)


def _check_subject(spec: dict[str, Any], causes: Causes) -> None:
    if not spec.get("user") and not spec.get("groups"):
        causes.invalid("spec.user", "", "at least one of user or group must be specified")


def _check_selectors(spec: dict[str, Any], causes: Causes) -> None:
    """An unknown operator is no error: it may be one of a later release, and authorization leaves
    the requirement out."""
    attributes = spec.get("resourceAttributes") or {}
    for name, check_key in (("fieldSelector", _check_field), ("labelSelector", _check_label)):
        selector, path = attributes.get(name), f"spec.resourceAttributes.{name}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
        if raw and requirements:
            detail = "may not specified at the same time as requirements"
            causes.invalid(f"{path}.rawSelector", raw, detail)
        if not raw and not requirements:
            detail = f"when {path} is specified, requirements or rawSelector is required"
            causes.required(f"{path}.requirements", detail)
        for index, rule in enumerate(requirements):
            check_key(rule, f"{path}.requirements[{index}]", causes)


def _check_field(rule: dict[str, Any], path: str, causes: Causes) -> None:
    if not rule["key"]:
        causes.required(f"{path}.key", "must be specified")
    is_set_operator(rule["operator"], rule.get("values") or [], path, causes)


def _check_label(rule: dict[str, Any], path: str, causes: Causes) -> None:
    values = rule.get("values") or []
    is_set_operator(rule["operator"], values, path, causes)
    causes.invalid_each(f"{path}.key", rule["key"], qualified_name(rule["key"]))
    for index, value in enumerate(values):
        causes.invalid_each(f"{path}.values[{index}]", value, label_value(value))


def _check_metadata(
    metadata: dict[str, Any], allowed: tuple[str, ...], detail: str, causes: Causes
) -> None:
    ignored = ("managedFields", *allowed)
    if any(item for name, item in metadata.items() if name not in ignored):
        causes.invalid("metadata", _shown_metadata(metadata), detail)


def _format_attributes(attributes: dict[str, str]) -> GoValue:
    parts = {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}
    quoted = {name: quote(text) for name, text in parts.items()}
    return go_composite("authorization.NonResourceAttributes", quoted)


_WRITTEN = (
    *_TEXTS.values(),
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def _shown_metadata(metadata: dict[str, Any]) -> GoValue:
    written = {name: metadata[name] for name in _WRITTEN if metadata.get(name)}
    for name in ("labels", "annotations"):
        if name in written:
            written[name] = dict(sorted(written[name].items()))
    text = go_composite(
        "v1.ObjectMeta",
        {
            **{label: quote(metadata.get(name, "")) for label, name in _TEXTS.items()},
            "Generation": str(metadata.get("generation", 0)),
            "CreationTimestamp": "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)",
            "DeletionTimestamp": "<nil>",
            "DeletionGracePeriodSeconds": "(*int64)(nil)",
            "Labels": go_map(metadata.get("labels")),
            "Annotations": go_map(metadata.get("annotations")),
            "OwnerReferences": "[]v1.OwnerReference(nil)",
            "Finalizers": go_list("string", metadata.get("finalizers")),
            "ManagedFields": "[]v1.ManagedFieldsEntry(nil)",
        },
    )
    return GoValue(text, written)
