"""Feature gates of release v1.25: their defaults, and the parser of `--feature-gates`."""

from __future__ import annotations

from collections.abc import Mapping

# The gates that our code reads, with their defaults.
DEFAULTS: dict[str, bool] = {
    "APIListChunking": True,
    "APIServerIdentity": False,
    "AnyVolumeDataSource": True,
    "CSIInlineVolume": True,
    "CSINodeExpandSecret": False,
    "CronJobTimeZone": True,
    "DownwardAPIHugePages": True,
    "DynamicResourceAllocation": False,
    "EphemeralContainers": True,
    "ExpandedDNSConfig": False,
    "GRPCContainerProbe": True,
    "HPAContainerMetrics": False,
    "HPAScaleToZero": False,
    "IdentifyPodOS": True,
    "JobMutableNodeSchedulingDirectives": True,
    "JobPodFailurePolicy": False,
    "JobReadyPods": True,
    "JobTrackingWithFinalizers": True,
    "LegacyServiceAccountTokenNoAutoGeneration": True,
    "LocalStorageCapacityIsolation": True,
    "MatchLabelKeysInPodTopologySpread": False,
    "MaxUnavailableStatefulSet": False,
    "MinDomainsInPodTopologySpread": False,
    "MixedProtocolLBService": True,
    "NetworkPolicyEndPort": True,
    "NetworkPolicyStatus": False,
    "NodeInclusionPolicyInPodTopologySpread": False,
    "NodeOutOfServiceVolumeDetach": False,
    "PodDeletionCost": True,
    "PodDisruptionConditions": False,
    "PodHasNetworkCondition": False,
    "PodSecurity": True,
    "ProbeTerminationGracePeriod": True,
    "ProcMountType": False,
    "ReadWriteOncePod": False,
    "RecoverVolumeExpansionFailure": False,
    "RunAsGroup": True,
    "SELinuxMountReadWriteOncePod": False,
    "SeccompDefault": True,
    "ServerSideApply": True,
    "ServerSideFieldValidation": True,
    "ServiceIPStaticSubrange": True,
    "ServiceInternalTrafficPolicy": True,
    "StatefulSetAutoDeletePVC": False,
    "StatefulSetMinReadySeconds": True,
    "TopologyAwareHints": True,
    "UserNamespacesStatelessPodsSupport": False,
    "WatchBookmark": True,
}

_STAGES = {"AllAlpha": False, "AllBeta": True}


class GateError(ValueError):
    """A feature gate that does not exist or a value that is not a boolean."""


class Gates:
    """The state of all feature gates."""

    def __init__(self, settings: Mapping[str, bool] | None = None) -> None:
        self._on = {**DEFAULTS, **(settings or {})}

    def __getitem__(self, name: str) -> bool:
        return self._on[name]


def is_gate(name: str) -> bool:
    return name in DEFAULTS or name in _STAGES


def parse_gates(text: str) -> Gates:
    """Read `Name=true,Other=false`; raises GateError."""
    settings: dict[str, bool] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise GateError(f"missing bool value for {name}")
        on = parse_bool(value)
        if on is None:
            raise GateError(f"invalid value of {name}={value}: must be true or false")
        if name in _STAGES:
            for gate, default in DEFAULTS.items():
                if default is _STAGES[name]:
                    settings.setdefault(gate, on)
        elif name not in DEFAULTS:
            raise GateError(f"unrecognized feature gate: {name}")
        else:
            settings[name] = on
    return Gates(settings)


# Booleans in flags and in some annotations

_WORDS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def parse_bool(text: str) -> bool | None:
    """The boolean, or None if the text is not a boolean."""
    return _WORDS.get(text)
