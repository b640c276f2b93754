"""Small plugins that are off by default: AlwaysAdmit, AlwaysDeny, AlwaysPullImages,
LimitPodHardAntiAffinityTopology, SecurityContextDeny and DenyServiceExternalIPs."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, mutation_error, refusal
from fairlead.auth.authentication.user import is_server
from fairlead.base.dialect import Dialect
from fairlead.resources.core.pods import REQUIRED
from fairlead.resources.core.pods.container_lists import all_containers, containers_with_paths

_DENIED = "admission control is denying all modifications"


class AlwaysAdmit(PluginBase):
    """Does nothing, for experiments."""

    name = "AlwaysAdmit"


class AlwaysDeny(PluginBase):
    """Rejects every write except the server's own, which it needs to start."""

    name = "AlwaysDeny"

    def admit(self, attributes: Attributes) -> None:
        if not is_server(attributes.user):
            raise mutation_error(attributes, _DENIED)

    def validate(self, attributes: Attributes) -> None:
        if not is_server(attributes.user):
            raise mutation_error(attributes, _DENIED)


_ALWAYS = "Always"


class AlwaysPullImages(PluginBase):
    """Forces the pull policy Always, so that a pod cannot use an image that is on a node because
    another pod had the credentials to pull it."""

    name = "AlwaysPullImages"

    def admit(self, attributes: Attributes) -> None:
        if _applies(attributes):
            assert attributes.value is not None
            for container in all_containers(attributes.value["spec"]):
                container["imagePullPolicy"] = _ALWAYS

    def validate(self, attributes: Attributes) -> None:
        if not _applies(attributes):
            return
        assert attributes.value is not None
        for container, path in containers_with_paths(attributes.value["spec"], "spec"):
            policy = container.get("imagePullPolicy", "")
            if policy != _ALWAYS:
                raise refusal(
                    attributes,
                    f'{path}.imagePullPolicy: Unsupported value: "{policy}": supported values:'
                    f' "{_ALWAYS}"',
                )


def _applies(attributes: Attributes) -> bool:
    if attributes.resource.key != PODS or attributes.value is None:
        return False
    if attributes.operation == CREATE:
        return True
    if attributes.operation != UPDATE or attributes.old is None:
        return False
    return not _images(attributes.value) <= _images(attributes.old)


def _images(pod: Object) -> set[str]:
    return {container.get("image", "") for container in all_containers(pod["spec"])}


class LimitPodHardAntiAffinityTopology(PluginBase):
    """Required pod anti-affinity may only use the hostname topology."""

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


# The field and its name in messages.
_POD_FIELDS = (
    ("supplementalGroups", "SupplementalGroups"),
    ("seLinuxOptions", "SELinuxOptions"),
    ("runAsUser", "RunAsUser"),
    ("fsGroup", "FSGroup"),
)
_CONTAINER_FIELDS = (("seLinuxOptions", "SELinuxOptions"), ("runAsUser", "RunAsUser"))


class SecurityContextDeny(PluginBase):
    """Rejects pods that set users, groups or SELinux options."""

    name = "SecurityContextDeny"

    def validate(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != PODS or value is None:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        field = _elevated(value["spec"])
        if field:
            raise refusal(attributes, f"{field} is forbidden")


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


SERVICES = "core/v1/services"


class DenyServiceExternalIPs(PluginBase):
    """Rejects new external IPs of services; existing ones may stay."""

    name = "DenyServiceExternalIPs"

    def validate(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != SERVICES or value is None:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        if not _addresses(value) <= _addresses(attributes.old):
            raise refusal(attributes, "Use of external IPs is denied by admission control.")


def _addresses(service: Object | None) -> set[str]:
    return set(service["spec"].get("externalIPs") or ()) if service is not None else set()
