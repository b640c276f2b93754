"""DefaultIngressClass: sets the default class on an ingress that names none."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase
from fairlead.admission.plugins.default_classes import default_names
from fairlead.admission.plugins.version_facts import FindCollection, PerCollectionCache
from fairlead.base.dialect import Dialect

INGRESSES, CLASSES = "networking/v1/ingresses", "networking/v1/ingressclasses"


class DefaultIngressClass(PluginBase):
    name = "DefaultIngressClass"
    concerns: frozenset[str] | None = frozenset({INGRESSES})

    def __init__(self, dialect: Dialect, collection: FindCollection) -> None:
        self._old_annotation = dialect.label("@/ingress.class")
        mark = dialect.label("ingressclass.@/is-default-class")
        self._defaults = PerCollectionCache(collection, CLASSES, default_names((mark,)))

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
