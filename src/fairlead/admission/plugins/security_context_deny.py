"""SecurityContextDeny: rejects pods that set users, groups or SELinux options."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal

# The field and its name in messages.
_POD_FIELDS = (
    ("supplementalGroups", "SupplementalGroups"),
    ("seLinuxOptions", "SELinuxOptions"),
    ("runAsUser", "RunAsUser"),
    ("fsGroup", "FSGroup"),
)
_CONTAINER_FIELDS = (("seLinuxOptions", "SELinuxOptions"), ("runAsUser", "RunAsUser"))


class SecurityContextDeny(PluginBase):
    name = "SecurityContextDeny"

    def validate(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != PODS or value is None:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        found = _elevated(value["spec"])
        if found:
            raise refusal(attributes, f"{found} is forbidden")


def _elevated(spec: Object) -> str:
    """The first field that is set and not allowed; empty if there is none."""
    context = spec.get("securityContext") or {}
    for name, label in _POD_FIELDS:
        if context.get(name) is not None:
            return f"pod.Spec.SecurityContext.{label}"
    for containers in ("initContainers", "containers"):
        for container in spec.get(containers) or ():
            context = container.get("securityContext") or {}
            for name, label in _CONTAINER_FIELDS:
                if context.get(name) is not None:
                    return f"SecurityContext.{label}"
    return ""
