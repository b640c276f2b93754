"""Columns that all kinds with a pod template share."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import field, items, joined, selector_at
from fairlead.resources.columns.model import Field, Object, Value, number, text


def _each(path: str, key: str) -> Value:
    return lambda obj: joined(item.get(key) for item in items(obj, path))


def containers(pod_spec: str, *, wide: bool = True) -> tuple[Field, Field]:
    """Names and images of the containers of the pod spec at a path."""
    path = f"{pod_spec}.containers"
    return (
        text("Containers", _each(path, "name"), "Names of the template's containers", wide=wide),
        text("Images", _each(path, "image"), "Images of the template's containers", wide=wide),
    )


def selector(value: Value | None = None) -> Field:
    """The selector of the object's pods."""
    value = value or selector_at("spec.selector")
    return text("Selector", value, "Labels that select the pods", wide=True)


def replicas() -> tuple[Field, Field, Field]:
    """Desired, current and ready replicas."""
    return (
        number("Desired", "spec.replicas", "Replicas asked for"),
        number("Current", "status.replicas", "Replicas that exist"),
        number("Ready", "status.readyReplicas", "Replicas that are ready"),
    )


def ready_of_desired(obj: Object) -> str:
    """Ready of desired replicas."""
    return f"{field(obj, 'status.readyReplicas') or 0}/{field(obj, 'spec.replicas') or 0}"
