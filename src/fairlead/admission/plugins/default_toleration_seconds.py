"""DefaultTolerationSeconds: by default pods tolerate a failing node for five minutes."""

from __future__ import annotations

from typing import Final

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, written_pod_spec
from fairlead.base.dialect import Dialect
from fairlead.resources.core.pods import NO_EXECUTE

DEFAULT_SECONDS: Final = 300
NOT_READY, UNREACHABLE = "node.@/not-ready", "node.@/unreachable"


def default_tolerations(dialect: Dialect) -> list[Object]:
    """The tolerations for pods that do not mention the taint."""
    return [
        {
            "key": dialect.label(key),
            "operator": "Exists",
            "effect": NO_EXECUTE,
            "tolerationSeconds": DEFAULT_SECONDS,
        }
        for key in (NOT_READY, UNREACHABLE)
    ]


class DefaultTolerationSeconds(PluginBase):
    name = "DefaultTolerationSeconds"
    concerns: frozenset[str] | None = frozenset({PODS})

    def __init__(self, dialect: Dialect) -> None:
        self._defaults = default_tolerations(dialect)

    def admit(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE, UPDATE))
        if spec is None:
            return
        tolerations = spec.get("tolerations") or []
        tolerated = {
            toleration.get("key", "")
            for toleration in tolerations
            if toleration.get("effect", "") in ("", NO_EXECUTE)
        }
        if "" in tolerated:
            return
        added = [
            dict(toleration) for toleration in self._defaults if toleration["key"] not in tolerated
        ]
        if added:
            spec["tolerations"] = [*tolerations, *added]
