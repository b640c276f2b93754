"""DefaultStorageClass: sets the default class on a claim that names none."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase, mutation_error
from fairlead.admission.plugins.default_classes import default_names
from fairlead.admission.plugins.version_facts import FindCollection, PerCollectionCache
from fairlead.base.dialect import Dialect
from fairlead.resources.core.persistent_volumes import CLASS_ANNOTATION

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
