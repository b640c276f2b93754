"""TaintNodesByCondition: taints a new node as not ready, until it is known to be ready."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase
from fairlead.base.dialect import Dialect
from fairlead.resources.core.pods import NO_SCHEDULE


class TaintNodesByCondition(PluginBase):
    name = "TaintNodesByCondition"
    concerns: frozenset[str] | None = frozenset({"core/v1/nodes"})

    def __init__(self, dialect: Dialect) -> None:
        self._key = dialect.label("node.@/not-ready")

    def admit(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != "core/v1/nodes" or attributes.operation != CREATE:
            return
        assert value is not None
        spec = value.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(
            taint["key"] == self._key and taint["effect"] == NO_SCHEDULE for taint in taints
        ):
            spec["taints"] = [*taints, {"key": self._key, "effect": NO_SCHEDULE}]
