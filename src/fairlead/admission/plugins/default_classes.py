"""DefaultStorageClass and DefaultIngressClass: set the default class, which an annotation marks, on
claims and ingresses that name none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase, mutation_error
from fairlead.admission.plugins.version_facts import FindCollection, PerCollectionCache
from fairlead.base.dialect import Dialect
from fairlead.resources.core.persistent_volumes import CLASS_ANNOTATION
from fairlead.storage.version import Version

CLAIMS, CLASSES = "core/v1/persistentvolumeclaims", "storage/v1/storageclasses"
_MARKS = ("storageclass.@/is-default-class", "storageclass.beta.@/is-default-class")


class DefaultStorageClass(PluginBase):
    name = "DefaultStorageClass"
    concerns: frozenset[str] | None = frozenset({CLAIMS})

    def __init__(self, dialect: Dialect, collection: FindCollection) -> None:
        self._class_annotation = dialect.label(CLASS_ANNOTATION)
        marks = tuple(dialect.label(mark) for mark in _MARKS)
        self._defaults = PerCollectionCache(collection, CLASSES, default_names(marks))

    def admit(self, attributes: Attributes) -> None:
        if attributes.resource.key != CLAIMS or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        value = attributes.value
        if value["spec"].get("storageClassName") is not None:
            return
        if self._class_annotation in (value["metadata"].get("annotations") or {}):
            return
        defaults = self._defaults.get()
        if not defaults:
            return
        if len(defaults) > 1:
            raise mutation_error(
                attributes,
                f"Internal error occurred: {len(defaults)} default StorageClasses were found",
            )
        value["spec"]["storageClassName"] = defaults[0]


def default_names(annotations: tuple[str, ...]) -> Callable[[Iterable[Version]], list[str]]:
    """Returns a function that finds the classes marked by one of the annotations, newest first."""

    def find_defaults(entries: Iterable[Version]) -> list[str]:
        marked: list[tuple[str, str]] = []
        for entry in entries:
            metadata = entry.object()["metadata"]
            present = metadata.get("annotations") or {}
            if any(present.get(name) == "true" for name in annotations):
                marked.append((metadata["creationTimestamp"], entry.name))
        marked.sort(key=lambda pair: pair[1])
        marked.sort(key=lambda pair: pair[0], reverse=True)
        return [name for _, name in marked]

    return find_defaults


INGRESSES, INGRESS_CLASSES = "networking/v1/ingresses", "networking/v1/ingressclasses"


class DefaultIngressClass(PluginBase):
    name = "DefaultIngressClass"
    concerns: frozenset[str] | None = frozenset({INGRESSES})

    def __init__(self, dialect: Dialect, collection: FindCollection) -> None:
        self._old_annotation = dialect.label("@/ingress.class")
        mark = dialect.label("ingressclass.@/is-default-class")
        self._defaults = PerCollectionCache(collection, INGRESS_CLASSES, default_names((mark,)))

    def admit(self, attributes: Attributes) -> None:
        if attributes.resource.key != INGRESSES or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        value = attributes.value
        if value["spec"].get("ingressClassName") is not None:
            return
        if self._old_annotation in (value["metadata"].get("annotations") or {}):
            return
        defaults = self._defaults.get()
        if defaults:
            value["spec"]["ingressClassName"] = defaults[0]
