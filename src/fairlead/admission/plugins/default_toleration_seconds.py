"""DefaultTolerationSeconds: pods stay five minutes on a node that fails, if they say nothing."""

from __future__ import annotations

from fairlead.admission.chain import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, PluginBase
from fairlead.dialect import Dialect

DEFAULT_SECONDS = 300
NOT_READY, UNREACHABLE = "node.@/not-ready", "node.@/unreachable"
_EFFECT = "NoExecute"


class DefaultTolerationSeconds(PluginBase):
    name = "DefaultTolerationSeconds"

    def __init__(self, dialect: Dialect) -> None:
        self._keys = (dialect.label(NOT_READY), dialect.label(UNREACHABLE))

    async def admit(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != PODS or value is None:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        spec = value["spec"]
        given = spec.get("tolerations") or []
        tolerated = {
            toleration.get("key", "")
            for toleration in given
            if toleration.get("effect", "") in ("", _EFFECT)
        }
        if "" in tolerated:
            return
        added = [
            {
                "key": key,
                "operator": "Exists",
                "effect": _EFFECT,
                "tolerationSeconds": DEFAULT_SECONDS,
            }
            for key in self._keys
            if key not in tolerated
        ]
        if added:
            spec["tolerations"] = [*given, *added]
