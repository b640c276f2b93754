"""LimitPodHardAntiAffinityTopology: required pod anti-affinity may only use the hostname
topology."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, PluginBase, refusal
from fairlead.base.dialect import Dialect
from fairlead.resources.core.pods import REQUIRED


class LimitPodHardAntiAffinityTopology(PluginBase):
    name = "LimitPodHardAntiAffinityTopology"

    def __init__(self, dialect: Dialect) -> None:
        self._allowed = dialect.label("@/hostname")
        self._printed = dialect.printed_hostname

    def validate(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != PODS or value is None:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        affinity = (value["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get(REQUIRED) or ():
            if term["topologyKey"] not in (self._allowed, self._printed):
                raise refusal(
                    attributes,
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey"
                    f" {term['topologyKey']} but only key {self._allowed} is allowed",
                )
