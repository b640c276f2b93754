"""Which admission plugins there are, in which order they run, and which of them are switched on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from fairlead.admission.chain import Plugin
from fairlead.admission.configuration import Configuration
from fairlead.admission.plugins.always import AlwaysAdmit, AlwaysDeny
from fairlead.admission.plugins.always_pull_images import AlwaysPullImages
from fairlead.admission.plugins.anti_affinity_topology import LimitPodHardAntiAffinityTopology
from fairlead.admission.plugins.certificate_approval import CertificateApproval
from fairlead.admission.plugins.certificate_signing import CertificateSigning
from fairlead.admission.plugins.certificate_subject_restriction import (
    CertificateSubjectRestriction,
)
from fairlead.admission.plugins.default_ingress_class import DefaultIngressClass
from fairlead.admission.plugins.default_storage_class import DefaultStorageClass
from fairlead.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from fairlead.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from fairlead.admission.plugins.event_rate_limit import EventRateLimit
from fairlead.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from fairlead.admission.plugins.limit_ranger import LimitRanger
from fairlead.admission.plugins.namespace_auto_provision import (
    CreateNamespace,
    NamespaceAutoProvision,
)
from fairlead.admission.plugins.namespace_exists import NamespaceExists
from fairlead.admission.plugins.namespace_lifecycle import Find, NamespaceLifecycle
from fairlead.admission.plugins.node_restriction import NodeRestriction
from fairlead.admission.plugins.owner_references import (
    Decide,
    OwnerReferencesPermissionEnforcement,
)
from fairlead.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from fairlead.admission.plugins.persistent_volume_label import PersistentVolumeLabel
from fairlead.admission.plugins.pod_node_selector import PodNodeSelector
from fairlead.admission.plugins.pod_security.plugin import PodSecurity
from fairlead.admission.plugins.pod_security.settings import settings_of
from fairlead.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from fairlead.admission.plugins.priority import Priority
from fairlead.admission.plugins.remembering import FindCollection, FindNamespace
from fairlead.admission.plugins.resource_quota import ResourceQuota
from fairlead.admission.plugins.runtime_class import RuntimeClass
from fairlead.admission.plugins.security_context_deny import SecurityContextDeny
from fairlead.admission.plugins.service_account import ServiceAccount
from fairlead.admission.plugins.signer_rights import Allowed
from fairlead.admission.plugins.storage_object_in_use_protection import (
    StorageObjectInUseProtection,
)
from fairlead.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from fairlead.dialect import Dialect
from fairlead.kinds.resources import Resources
from fairlead.records import dataclass, field

logger = logging.getLogger("fairlead")

# All plugins in the order in which they run, whatever order the flags name them in.
ORDER = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "SecurityContextDeny",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodSecurityPolicy",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PersistentVolumeLabel",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)

_ON = frozenset(
    {
        "NamespaceLifecycle",
        "LimitRanger",
        "ServiceAccount",
        "TaintNodesByCondition",
        "PodSecurity",
        "Priority",
        "DefaultTolerationSeconds",
        "DefaultStorageClass",
        "StorageObjectInUseProtection",
        "PersistentVolumeClaimResize",
        "RuntimeClass",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "DefaultIngressClass",
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionWebhook",
        "ResourceQuota",
    }
)

ENABLE_FLAG, DISABLE_FLAG = "enable-admission-plugins", "disable-admission-plugins"


class PluginNameError(ValueError):
    """The flags name plugins wrongly; the text is for the person who started the server."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the plugins need of the server. `others` are plugins that other parts have made, by
    name; each takes its place in the order if it is switched on."""

    find: Find
    namespace: FindNamespace
    collection: FindCollection
    allowed: Allowed
    decide: Decide
    create_namespace: CreateNamespace
    resources: Resources
    configuration: Configuration = field(default_factory=Configuration)
    others: Mapping[str, Plugin] = field(default_factory=dict)


def _image_policy(dialect: Dialect, needs: Needs) -> Plugin:
    from fairlead.admission.plugins import image_policy  # and what it calls out with

    return image_policy.configured(
        dialect,
        needs.configuration.of(image_policy.ImagePolicyWebhook.name),
        group_enabled=dialect.group_name(image_policy.GROUP_VERSION) in needs.resources.sent_only,
    )


def _pod_security_policy(dialect: Dialect, needs: Needs) -> Plugin:
    from fairlead.admission.plugins.pod_security_policy import plugin  # off by default, and large

    try:
        return plugin.PodSecurityPolicy(dialect, needs.collection, needs.allowed)
    except KeyError:
        raise PluginNameError(
            f"--{ENABLE_FLAG}: PodSecurityPolicy needs {plugin.POLICIES}, which this server does"
            " not serve"
        ) from None


_MAKERS: dict[str, Callable[[Dialect, Needs], Plugin]] = {
    "AlwaysAdmit": lambda dialect, needs: AlwaysAdmit(),
    "NamespaceAutoProvision": lambda dialect, needs: NamespaceAutoProvision(
        needs.find, needs.create_namespace
    ),
    "NamespaceLifecycle": lambda dialect, needs: NamespaceLifecycle(dialect, needs.find),
    "NamespaceExists": lambda dialect, needs: NamespaceExists(needs.find),
    "SecurityContextDeny": lambda dialect, needs: SecurityContextDeny(),
    "LimitPodHardAntiAffinityTopology": lambda dialect, needs: LimitPodHardAntiAffinityTopology(
        dialect
    ),
    "LimitRanger": lambda dialect, needs: LimitRanger(dialect, needs.collection),
    "ServiceAccount": lambda dialect, needs: ServiceAccount(dialect, needs.find),
    "NodeRestriction": lambda dialect, needs: NodeRestriction(dialect),
    "TaintNodesByCondition": lambda dialect, needs: TaintNodesByCondition(dialect),
    "AlwaysPullImages": lambda dialect, needs: AlwaysPullImages(),
    "ImagePolicyWebhook": _image_policy,
    "PodSecurity": lambda dialect, needs: PodSecurity(
        dialect,
        needs.namespace,
        needs.collection,
        settings_of(needs.configuration.of("PodSecurity")),
    ),
    "PodSecurityPolicy": _pod_security_policy,
    "PodNodeSelector": lambda dialect, needs: PodNodeSelector(
        dialect, needs.namespace, needs.configuration.of("PodNodeSelector")
    ),
    "Priority": lambda dialect, needs: Priority(needs.find, needs.collection),
    "DefaultTolerationSeconds": lambda dialect, needs: DefaultTolerationSeconds(dialect),
    "PodTolerationRestriction": lambda dialect, needs: PodTolerationRestriction(
        dialect,
        needs.namespace,
        needs.resources.types,
        needs.configuration.of("PodTolerationRestriction"),
    ),
    "EventRateLimit": lambda dialect, needs: EventRateLimit(
        needs.configuration.of("EventRateLimit")
    ),
    "ExtendedResourceToleration": lambda dialect, needs: ExtendedResourceToleration(dialect),
    "PersistentVolumeLabel": lambda dialect, needs: PersistentVolumeLabel(dialect),
    "DefaultStorageClass": lambda dialect, needs: DefaultStorageClass(dialect, needs.collection),
    "StorageObjectInUseProtection": lambda dialect, needs: StorageObjectInUseProtection(dialect),
    "OwnerReferencesPermissionEnforcement": lambda dialect, needs: (
        OwnerReferencesPermissionEnforcement(dialect, needs.resources, needs.decide)
    ),
    "PersistentVolumeClaimResize": lambda dialect, needs: PersistentVolumeClaimResize(
        dialect, needs.find
    ),
    "RuntimeClass": lambda dialect, needs: RuntimeClass(needs.find),
    "CertificateApproval": lambda dialect, needs: CertificateApproval(dialect, needs.allowed),
    "CertificateSigning": lambda dialect, needs: CertificateSigning(dialect, needs.allowed),
    "CertificateSubjectRestriction": lambda dialect, needs: CertificateSubjectRestriction(dialect),
    "DefaultIngressClass": lambda dialect, needs: DefaultIngressClass(dialect, needs.collection),
    "DenyServiceExternalIPs": lambda dialect, needs: DenyServiceExternalIPs(),
    "ResourceQuota": lambda dialect, needs: ResourceQuota(
        dialect, needs.find, needs.collection, needs.configuration.of("ResourceQuota")
    ),
    "AlwaysDeny": lambda dialect, needs: AlwaysDeny(),
}


def on_by_default(dialect: Dialect) -> frozenset[str]:
    return _ON - {"CertificateSubjectRestriction"} if dialect.client_signer_unlimited else _ON


def switched_on(dialect: Dialect, enabled: str, disabled: str) -> list[str]:
    """The names of the plugins that shall run, in their order; raises PluginNameError."""
    wanted, unwanted = _names(ENABLE_FLAG, enabled), _names(DISABLE_FLAG, disabled)
    both = [name for name in ORDER if name in wanted & unwanted]
    if both:
        raise PluginNameError(f"{', '.join(both)} in both --{ENABLE_FLAG} and --{DISABLE_FLAG}")
    chosen = (on_by_default(dialect) | wanted) - unwanted
    return [name for name in ORDER if name in chosen]


def _names(flag: str, text: str) -> set[str]:
    names = {name for part in text.split(",") if (name := part.strip())}
    unknown = sorted(names.difference(ORDER))
    if unknown:
        listed = ", ".join(f'"{name}"' for name in unknown)
        raise PluginNameError(f"--{flag}: unknown plugin {listed}; known are {', '.join(ORDER)}")
    return names


def build_plugins(dialect: Dialect, enabled: str, disabled: str, needs: Needs) -> list[Plugin]:
    """The plugins of the chain. `enabled` and `disabled` are the values of the two flags; raises
    PluginNameError for a name that is unknown or contradicted. One that is asked for and that this
    server does not have is warned of."""
    asked_for = _names(ENABLE_FLAG, enabled)
    plugins: list[Plugin] = []
    for name in switched_on(dialect, enabled, disabled):
        made = needs.others.get(name)
        if made is None and name in _MAKERS:
            made = _MAKERS[name](dialect, needs)
        if made is not None:
            plugins.append(made)
        elif name in asked_for:
            logger.warning(
                "--%s: %s is not in this release yet and does nothing", ENABLE_FLAG, name
            )
    return plugins
