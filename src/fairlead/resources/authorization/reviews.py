"""Rules of the access reviews. They are not stored: their request handlers call these functions.
Errors about them name no kind and no object.
"""

from __future__ import annotations

from typing import Any

from fairlead.base.errors import bad_request
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.core.shared import go_struct
from fairlead.resources.go_values import go_list, go_map

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
    _check_metadata(value["metadata"], (), "must be empty", causes)


def check_self_subject_access_review(value: Object, causes: Causes) -> None:
    _check_attributes(value["spec"], causes)
    _check_metadata(value["metadata"], (), "must be empty", causes)


def check_local_subject_access_review(value: Object, causes: Causes) -> None:
    """`metadata.namespace` is the namespace of the request."""
    spec = value["spec"]
    _check_attributes(spec, causes)
    _check_subject(spec, causes)
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
        causes.invalid("spec.resourceAttributes", "null", detail)


def _check_subject(spec: dict[str, Any], causes: Causes) -> None:
    if not spec.get("user") and not spec.get("groups"):
        causes.invalid("spec.user", "", "at least one of user or group must be specified")


def _check_metadata(
    metadata: dict[str, Any], allowed: tuple[str, ...], detail: str, causes: Causes
) -> None:
    ignored = ("managedFields", *allowed)
    if any(item for name, item in metadata.items() if name not in ignored):
        causes.invalid("metadata", _shown_metadata(metadata), detail)


def _format_attributes(attributes: dict[str, str]) -> GoValue:
    parts = {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}
    quoted = {name: quote(text) for name, text in parts.items()}
    return go_struct("authorization.NonResourceAttributes", quoted)


def _shown_metadata(metadata: dict[str, Any]) -> GoValue:
    return go_struct(
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
