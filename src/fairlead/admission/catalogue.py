"""The list of admission plugins, their order, and which are enabled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from fairlead.admission.configuration import Configuration
from fairlead.admission.plugin import LazyPlugin, Plugin
from fairlead.admission.plugins import image_policy
from fairlead.admission.plugins.pod_security.plugin import PodSecurity
from fairlead.admission.plugins.pod_security.settings import settings_of
from fairlead.admission.plugins.pod_security_policy import plugin as policy_plugin
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger
from fairlead.base.release import Release
from fairlead.resources.registry import Resources

if TYPE_CHECKING:  # plugins are imported lazily: when enabled and when a write needs them
    from fairlead.admission.plugins.certificates import Allowed
    from fairlead.admission.plugins.namespace_lifecycle import Find
    from fairlead.admission.plugins.namespaces import CreateNamespace
    from fairlead.admission.plugins.owner_references import Decide
    from fairlead.admission.plugins.version_facts import FindCollection, FindNamespace

logger = Logger("fairlead")

ENABLE_FLAG, DISABLE_FLAG = "enable-admission-plugins", "disable-admission-plugins"


class PluginNameError(ValueError):
    """The flags name unknown or conflicting plugins; the text is for the administrator."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the plugins. `others` are plugins that other parts of the server
    constructed, by name; an enabled one runs at its place in the order."""

    find: Find
    namespace: FindNamespace
    collection: FindCollection
    allowed: Allowed
    decide: Decide
    create_namespace: CreateNamespace
    resources: Resources
    configuration: Configuration = field(default_factory=Configuration)
    others: Mapping[str, Plugin | LazyPlugin] = field(default_factory=dict)


class _Row(NamedTuple):
    """How to construct a plugin: its module, which has a class of the plugin's name, and the
    constructor arguments: fields of `Dependencies` and the values that `_build_from_row` adds.
    Without a module it is constructed by a function of `_BUILDERS` or by another part
    (`Dependencies.others`). A plugin with `concerns` is constructed on the first write to one of
    these resources. `on`: it is enabled by default. It exists from release 1.`since` on, before
    1.`until`."""

    module: str = ""
    arguments: str = ""
    concerns: frozenset[str] | None = None
    on: bool = False
    since: int = 0
    until: int = 1000

    def is_of(self, release: Release) -> bool:
        return self.since <= release.minor < self.until


_PODS, _CLAIMS = "core/v1/pods", "core/v1/persistentvolumeclaims"
_REQUESTS = frozenset({"certificates/v1/certificatesigningrequests"})
_OF_PODS = frozenset({_PODS})
_LIMITED = frozenset({_PODS, f"{_PODS}/resize", _CLAIMS})
# All plugins in the order in which they run, independent of the order in the flags.
_PLUGINS = {
    "AlwaysAdmit": _Row("optional"),
    "NamespaceAutoProvision": _Row("namespaces", "find create_namespace"),
    "NamespaceLifecycle": _Row("namespace_lifecycle", "dialect find", on=True),
    "NamespaceExists": _Row("namespaces", "find"),
    "SecurityContextDeny": _Row("optional", until=30),
    "LimitPodHardAntiAffinityTopology": _Row("optional", "dialect"),
    "LimitRanger": _Row("limit_ranger", "dialect collection", _LIMITED, on=True),
    "ServiceAccount": _Row("service_account", "dialect find", _OF_PODS, on=True),
    "NodeRestriction": _Row("node_restriction", "dialect decide"),
    "TaintNodesByCondition": _Row("tolerations", "dialect", frozenset({"core/v1/nodes"}), on=True),
    "AlwaysPullImages": _Row("optional"),
    "ImagePolicyWebhook": _Row(),
    "PodSecurity": _Row(on=True),
    "PodSecurityPolicy": _Row(until=26),
    "PodNodeSelector": _Row("pod_node_selector", "dialect namespace configuration"),
    "Priority": _Row(
        "priority", "find collection", frozenset({_PODS, "scheduling/v1/priorityclasses"}), on=True
    ),
    "DefaultTolerationSeconds": _Row("default_toleration_seconds", "dialect", _OF_PODS, on=True),
    "PodTolerationRestriction": _Row(
        "pod_toleration_restriction", "dialect namespace types configuration"
    ),
    "EventRateLimit": _Row("event_rate_limit", "configuration"),
    "ExtendedResourceToleration": _Row("tolerations", "dialect"),
    "PersistentVolumeLabel": _Row("persistent_volumes", "dialect", until=31),
    "DefaultStorageClass": _Row(
        "default_classes", "dialect collection", frozenset({_CLAIMS}), on=True
    ),
    "StorageObjectInUseProtection": _Row(
        "persistent_volumes",
        "dialect",
        frozenset({_CLAIMS, "core/v1/persistentvolumes", "storage/v1/volumeattributesclasses"}),
        on=True,
    ),
    "PodGroupProtection": _Row(on=True, since=36),
    "OwnerReferencesPermissionEnforcement": _Row("owner_references", "dialect resources decide"),
    "PersistentVolumeClaimResize": _Row(
        "persistent_volumes", "dialect find", frozenset({_CLAIMS}), on=True
    ),
    "RuntimeClass": _Row("runtime_class", "find", _OF_PODS, on=True),
    "CertificateApproval": _Row("certificates", "dialect allowed", _REQUESTS, on=True),
    "CertificateSigning": _Row("certificates", "dialect allowed", _REQUESTS, on=True),
    "ClusterTrustBundleAttest": _Row(on=True, since=27),
    "CertificateSubjectRestriction": _Row("certificates", "dialect", _REQUESTS, on=True),
    "DefaultIngressClass": _Row(
        "default_classes",
        "dialect collection",
        frozenset({"networking/v1/ingresses"}),
        on=True,
    ),
    "DenyServiceExternalIPs": _Row("optional"),
    "PodTopologyLabels": _Row("bound_pods", "dialect find", _OF_PODS, on=True, since=33),
    "PodGroupWorkloadExists": _Row(on=True, since=36),
    "NodeDeclaredFeatureValidator": _Row("bound_pods", "find", _OF_PODS, on=True, since=35),
    "JobValidation": _Row(on=True, since=36),
    "PodResizeValidator": _Row("bound_pods", "dialect find", _OF_PODS, on=True, since=36),
    "MutatingAdmissionPolicy": _Row(on=True, since=36),
    "MutatingAdmissionWebhook": _Row(on=True),
    "ValidatingAdmissionPolicy": _Row(on=True, since=30),
    "ValidatingAdmissionWebhook": _Row(on=True),
    "ResourceQuota": _Row("resource_quota", "dialect find collection configuration", on=True),
    "AlwaysDeny": _Row("optional"),
}


def _image_policy(dialect: Dialect, needs: Dependencies) -> Plugin:
    return image_policy.configured(
        dialect,
        needs.configuration.of(image_policy.ImagePolicyWebhook.name),
        group_enabled=dialect.group_name(image_policy.GROUP_VERSION) in needs.resources.sent_only,
    )


def _pod_security(dialect: Dialect, needs: Dependencies) -> Plugin:
    settings = settings_of(needs.configuration.of("PodSecurity"))
    release = needs.resources.release
    return PodSecurity(dialect, needs.namespace, needs.collection, settings, release)


def _pod_security_policy(dialect: Dialect, needs: Dependencies) -> Plugin:
    try:
        return policy_plugin.PodSecurityPolicy(dialect, needs.collection, needs.allowed)
    except KeyError:
        raise PluginNameError(
            f"--{ENABLE_FLAG}: PodSecurityPolicy needs {policy_plugin.POLICIES}, which this server"
            " does not serve"
        ) from None


# Plugins that need their own constructor function.
_BUILDERS: dict[str, Callable[[Dialect, Dependencies], Plugin]] = {
    "ImagePolicyWebhook": _image_policy,
    "PodSecurity": _pod_security,
    "PodSecurityPolicy": _pod_security_policy,
}


def _build_plugin(name: str, dialect: Dialect, needs: Dependencies) -> Plugin | LazyPlugin | None:
    if name in needs.others:
        return needs.others[name]
    if name in _BUILDERS:
        return _BUILDERS[name](dialect, needs)
    row = _PLUGINS[name]
    if not row.module:
        return None
    build = partial(_build_from_row, name, row, dialect, needs)
    return build() if row.concerns is None else LazyPlugin(name, row.concerns, build)


def _build_from_row(name: str, row: _Row, dialect: Dialect, needs: Dependencies) -> Plugin:
    values = {
        "dialect": dialect,
        "configuration": needs.configuration.of(name),
        "types": needs.resources.types,
    }
    words = row.arguments.split()
    parts = (values[word] if word in values else getattr(needs, word) for word in words)
    module = import_module(f"fairlead.admission.plugins.{row.module}")
    plugin: Plugin = getattr(module, name)(*parts)
    return plugin


def known_plugins(release: Release) -> tuple[str, ...]:
    """The names of all plugins of a release, in the order in which they run."""
    return tuple(name for name, row in _PLUGINS.items() if row.is_of(release))


def on_by_default(dialect: Dialect, release: Release) -> frozenset[str]:
    on = frozenset(name for name in known_plugins(release) if _PLUGINS[name].on)
    return on - {"CertificateSubjectRestriction"} if dialect.client_signer_unlimited else on


def enabled_plugins(dialect: Dialect, release: Release, enabled: str, disabled: str) -> list[str]:
    """The names of the enabled plugins, in order; raises PluginNameError."""
    enable = _names(release, ENABLE_FLAG, enabled)
    unwanted = _names(release, DISABLE_FLAG, disabled)
    order = known_plugins(release)
    both = [name for name in order if name in enable & unwanted]
    if both:
        raise PluginNameError(f"{', '.join(both)} in both --{ENABLE_FLAG} and --{DISABLE_FLAG}")
    chosen = (on_by_default(dialect, release) | enable) - unwanted
    return [name for name in order if name in chosen]


def _names(release: Release, flag: str, text: str) -> set[str]:
    names = {name for part in text.split(",") if (name := part.strip())}
    order = known_plugins(release)
    unknown = sorted(names.difference(order))
    if unknown:
        listed = ", ".join(f'"{name}"' for name in unknown)
        raise PluginNameError(f"--{flag}: unknown plugin {listed}; known are {', '.join(order)}")
    return names


def build_plugins(
    dialect: Dialect, enabled: str, disabled: str, needs: Dependencies
) -> list[Plugin | LazyPlugin]:
    """The plugins of the chain. `enabled` and `disabled` are the values of the two flags. Raises
    PluginNameError for an unknown or contradictory name. Warns of an enabled plugin that this
    server does not implement."""
    release = needs.resources.release
    asked_for = _names(release, ENABLE_FLAG, enabled)
    plugins: list[Plugin | LazyPlugin] = []
    for name in enabled_plugins(dialect, release, enabled, disabled):
        plugin = _build_plugin(name, dialect, needs)
        if plugin is not None:
            plugins.append(plugin)
        elif name in asked_for:
            logger.warning(
                "an admission plugin is not implemented and has no effect",
                flag=f"--{ENABLE_FLAG}",
                plugin=name,
            )
    return plugins
