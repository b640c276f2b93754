"""The structs whose empty lists and maps, if a client sent them, the reference shows or keeps."""

from __future__ import annotations

from typing import Final

# Protobuf messages, rules or the messages about refused changes distinguish an empty list or map of
# these structs from an absent one. The labels of a pod template are another case, see `decode`.
SHOWN_WHEN_EMPTY: Final = frozenset((
    "CSIPersistentVolumeSource", "Capabilities", "Container", "DeviceClaim", "DeviceConstraint",
    "EphemeralContainer", "ExactDeviceRequest", "ExecAction", "HTTPGetAction", "HostAlias",
    "IngressSpec", "JSONSchemaProps", "LabelSelector", "LabelSelectorRequirement", "NodeSelector",
    "NodeSelectorRequirement", "NodeSelectorTerm", "PersistentVolumeClaimSpec",
    "PersistentVolumeSpec", "PodAffinity", "PodAffinityTerm", "PodAntiAffinity", "PodDNSConfig",
    "PodFailurePolicy", "PodFailurePolicyOnExitCodesRequirement", "PodSecurityContext", "PodSpec",
    "ResourceQuotaSpec", "ResourceRequirements", "StorageClass", "SuccessPolicy",
    "VolumeResourceRequirements",
))  # fmt: skip
