"""ExtendedResourceToleration: a pod that asks for a special resource may run on the nodes that are
kept for it."""

from __future__ import annotations

from fairlead.admission.chain import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, written_pod_spec
from fairlead.dialect import Dialect
from fairlead.kinds.core.pods.resources import is_extended

_IDENTITY = ("key", "operator", "effect", "value")


class ExtendedResourceToleration(PluginBase):
    name = "ExtendedResourceToleration"

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    async def admit(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE, UPDATE))
        if spec is None:
            return
        for name in sorted(self._asked_for(spec)):
            wanted = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            given = spec.get("tolerations") or []
            if not any(_same(toleration, wanted) for toleration in given):
                spec["tolerations"] = [*given, wanted]

    def _asked_for(self, spec: Object) -> set[str]:
        """The extended resources that containers request."""
        return {
            name
            for containers in ("containers", "initContainers")
            for container in spec.get(containers) or ()
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended(name, self._dialect)
        }


def _same(one: Object, other: Object) -> bool:
    return all(one.get(name, "") == other.get(name, "") for name in _IDENTITY)
