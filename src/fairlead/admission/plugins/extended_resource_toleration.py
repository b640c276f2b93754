"""ExtendedResourceToleration: adds tolerations for the taints of nodes dedicated to the extended
resources that a pod requests."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, written_pod_spec
from fairlead.admission.plugins.tolerations import taint_of
from fairlead.base.dialect import Dialect
from fairlead.resources.core.pods import NO_SCHEDULE
from fairlead.resources.core.pods.resources import is_extended


class ExtendedResourceToleration(PluginBase):
    name = "ExtendedResourceToleration"

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def admit(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE, UPDATE))
        if spec is None:
            return
        asked_for = self._asked_for(spec)
        if asked_for:
            given = spec.get("tolerations") or []
            known = {taint_of(one) for one in given if one.get("operator", "") == "Exists"}
            added = [
                {"key": name, "operator": "Exists", "effect": NO_SCHEDULE}
                for name in sorted(asked_for)
                if (name, NO_SCHEDULE) not in known
            ]
            spec["tolerations"] = [*given, *added]

    def _asked_for(self, spec: Object) -> set[str]:
        """The extended resources that containers request."""
        return {
            name
            for containers in ("containers", "initContainers")
            for container in spec.get(containers) or ()
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended(name, self._dialect)
        }
