"""Formats a pod template for messages: the whole Go struct, without the values of pointers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import GoValue, go_composite, go_pointer, quote
from fairlead.resources.core.shared import go_date, go_quantities, go_structs
from fairlead.resources.go_values import given_list, given_map, go_list, go_map

Shown = Callable[[Object, str], str]
# The fields of a struct in their order: the Go name, our name, and the formatter.
Fields = tuple[tuple[str, str, Shown], ...]

_ZERO_TIME = "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"


def _text(value: Object, name: str) -> str:
    return quote(value.get(name) or "")


def _number(value: Object, name: str) -> str:
    return str(value.get(name) or 0)


def _flag(value: Object, name: str) -> str:
    return "true" if value.get(name) else "false"


def _texts(value: Object, name: str) -> str:
    return go_list("string", given_list(value, name))


def _map(value: Object, name: str) -> str:
    return go_map(given_map(value, name))


def _amounts(value: Object, name: str) -> str:
    return go_quantities(value.get(name))


def _created(value: Object, name: str) -> str:
    moment = value.get(name)
    return _ZERO_TIME if moment is None else go_date(moment)


def _moment(value: Object, name: str) -> str:
    return go_date(value.get(name))


def _none(kind: str) -> Shown:
    """A list that no stored template can have."""
    return lambda value, name: f"[]{kind}(nil)"


def _pointer(kind: str) -> Shown:
    return lambda value, name: go_pointer(kind, value.get(name))


def _list_of(kind: str, fields: Fields) -> Shown:
    return lambda value, name: go_structs(
        kind, given_list(value, name), lambda each: _fields(each, fields)
    )


def _fields(value: Object, fields: Fields) -> Mapping[str, str]:
    return {label: show(value, name) for label, name, show in fields}


def _owners(value: Object, name: str) -> str:
    return go_structs(
        "v1.OwnerReference", given_list(value, name), lambda owner: _fields(owner, _OWNER)
    )


_OWNER: Fields = (
    ("APIVersion", "apiVersion", _text),
    ("Kind", "kind", _text),
    ("Name", "name", _text),
    ("UID", "uid", _text),
    ("Controller", "controller", _pointer("bool")),
    ("BlockOwnerDeletion", "blockOwnerDeletion", _pointer("bool")),
)
_METADATA: Fields = (
    ("Name", "name", _text),
    ("GenerateName", "generateName", _text),
    ("Namespace", "namespace", _text),
    ("SelfLink", "selfLink", _text),
    ("UID", "uid", _text),
    ("ResourceVersion", "resourceVersion", _text),
    ("Generation", "generation", _number),
    ("CreationTimestamp", "creationTimestamp", _created),
    ("DeletionTimestamp", "deletionTimestamp", _moment),
    ("DeletionGracePeriodSeconds", "deletionGracePeriodSeconds", _pointer("int64")),
    ("Labels", "labels", _map),
    ("Annotations", "annotations", _map),
    ("OwnerReferences", "ownerReferences", _owners),
    ("Finalizers", "finalizers", _texts),
    ("ManagedFields", "managedFields", _none("v1.ManagedFieldsEntry")),
)
_SOURCES = {
    "HostPath": ("hostPath", "HostPathVolumeSource"),
    "EmptyDir": ("emptyDir", "EmptyDirVolumeSource"),
    "GCEPersistentDisk": ("gcePersistentDisk", "GCEPersistentDiskVolumeSource"),
    "AWSElasticBlockStore": ("awsElasticBlockStore", "AWSElasticBlockStoreVolumeSource"),
    "GitRepo": ("gitRepo", "GitRepoVolumeSource"),
    "Secret": ("secret", "SecretVolumeSource"),
    "NFS": ("nfs", "NFSVolumeSource"),
    "ISCSI": ("iscsi", "ISCSIVolumeSource"),
    "Glusterfs": ("glusterfs", "GlusterfsVolumeSource"),
    "PersistentVolumeClaim": ("persistentVolumeClaim", "PersistentVolumeClaimVolumeSource"),
    "RBD": ("rbd", "RBDVolumeSource"),
    "Quobyte": ("quobyte", "QuobyteVolumeSource"),
    "FlexVolume": ("flexVolume", "FlexVolumeSource"),
    "Cinder": ("cinder", "CinderVolumeSource"),
    "CephFS": ("cephfs", "CephFSVolumeSource"),
    "Flocker": ("flocker", "FlockerVolumeSource"),
    "DownwardAPI": ("downwardAPI", "DownwardAPIVolumeSource"),
    "FC": ("fc", "FCVolumeSource"),
    "AzureFile": ("azureFile", "AzureFileVolumeSource"),
    "ConfigMap": ("configMap", "ConfigMapVolumeSource"),
    "VsphereVolume": ("vsphereVolume", "VsphereVirtualDiskVolumeSource"),
    "AzureDisk": ("azureDisk", "AzureDiskVolumeSource"),
    "PhotonPersistentDisk": ("photonPersistentDisk", "PhotonPersistentDiskVolumeSource"),
    "Projected": ("projected", "ProjectedVolumeSource"),
    "PortworxVolume": ("portworxVolume", "PortworxVolumeSource"),
    "ScaleIO": ("scaleIO", "ScaleIOVolumeSource"),
    "StorageOS": ("storageos", "StorageOSVolumeSource"),
    "CSI": ("csi", "CSIVolumeSource"),
    "Ephemeral": ("ephemeral", "EphemeralVolumeSource"),
}
_PORT: Fields = (
    ("Name", "name", _text),
    ("HostPort", "hostPort", _number),
    ("ContainerPort", "containerPort", _number),
    ("Protocol", "protocol", _text),
    ("HostIP", "hostIP", _text),
)
_ENVIRONMENT: Fields = (
    ("Prefix", "prefix", _text),
    ("ConfigMapRef", "configMapRef", _pointer("core.ConfigMapEnvSource")),
    ("SecretRef", "secretRef", _pointer("core.SecretEnvSource")),
)
_VARIABLE: Fields = (
    ("Name", "name", _text),
    ("Value", "value", _text),
    ("ValueFrom", "valueFrom", _pointer("core.EnvVarSource")),
)
_MOUNT: Fields = (
    ("Name", "name", _text),
    ("ReadOnly", "readOnly", _flag),
    ("MountPath", "mountPath", _text),
    ("SubPath", "subPath", _text),
    ("MountPropagation", "mountPropagation", _pointer("core.MountPropagationMode")),
    ("SubPathExpr", "subPathExpr", _text),
)
_DEVICE: Fields = (("Name", "name", _text), ("DevicePath", "devicePath", _text))
_RESOURCES: Fields = (("Limits", "limits", _amounts), ("Requests", "requests", _amounts))


def _volume(volume: Object) -> Mapping[str, str]:
    sources = {
        label: go_pointer(f"core.{kind}", volume.get(name))
        for label, (name, kind) in _SOURCES.items()
    }
    return {
        "Name": _text(volume, "name"),
        "VolumeSource": go_composite("core.VolumeSource", sources),
    }


def _volumes(value: Object, name: str) -> str:
    return go_structs("core.Volume", given_list(value, name), _volume)


def _resources(value: Object, name: str) -> str:
    return go_composite("core.ResourceRequirements", _fields(value.get(name) or {}, _RESOURCES))


_PROBE = _pointer("core.Probe")
_CONTAINER: Fields = (
    ("Name", "name", _text),
    ("Image", "image", _text),
    ("Command", "command", _texts),
    ("Args", "args", _texts),
    ("WorkingDir", "workingDir", _text),
    ("Ports", "ports", _list_of("core.ContainerPort", _PORT)),
    ("EnvFrom", "envFrom", _list_of("core.EnvFromSource", _ENVIRONMENT)),
    ("Env", "env", _list_of("core.EnvVar", _VARIABLE)),
    ("Resources", "resources", _resources),
    ("VolumeMounts", "volumeMounts", _list_of("core.VolumeMount", _MOUNT)),
    ("VolumeDevices", "volumeDevices", _list_of("core.VolumeDevice", _DEVICE)),
    ("LivenessProbe", "livenessProbe", _PROBE),
    ("ReadinessProbe", "readinessProbe", _PROBE),
    ("StartupProbe", "startupProbe", _PROBE),
    ("Lifecycle", "lifecycle", _pointer("core.Lifecycle")),
    ("TerminationMessagePath", "terminationMessagePath", _text),
    ("TerminationMessagePolicy", "terminationMessagePolicy", _text),
    ("ImagePullPolicy", "imagePullPolicy", _text),
    ("SecurityContext", "securityContext", _pointer("core.SecurityContext")),
    ("Stdin", "stdin", _flag),
    ("StdinOnce", "stdinOnce", _flag),
    ("TTY", "tty", _flag),
)


def _ephemeral(value: Object, name: str) -> str:
    """A stored template has none, but a refused template may."""

    def parts(each: Object) -> Mapping[str, str]:
        common = go_composite("core.EphemeralContainerCommon", _fields(each, _CONTAINER))
        target = _text(each, "targetContainerName")
        return {"EphemeralContainerCommon": common, "TargetContainerName": target}

    return go_structs("core.EphemeralContainer", given_list(value, name), parts)


_TOLERATION: Fields = (
    ("Key", "key", _text),
    ("Operator", "operator", _text),
    ("Value", "value", _text),
    ("Effect", "effect", _text),
    ("TolerationSeconds", "tolerationSeconds", _pointer("int64")),
)
_POLICY = _pointer("core.NodeInclusionPolicy")
_SPREADING: Fields = (
    ("MaxSkew", "maxSkew", _number),
    ("TopologyKey", "topologyKey", _text),
    ("WhenUnsatisfiable", "whenUnsatisfiable", _text),
    ("LabelSelector", "labelSelector", _pointer("v1.LabelSelector")),
    ("MinDomains", "minDomains", _pointer("int32")),
    ("NodeAffinityPolicy", "nodeAffinityPolicy", _POLICY),
    ("NodeTaintsPolicy", "nodeTaintsPolicy", _POLICY),
    ("MatchLabelKeys", "matchLabelKeys", _texts),
)
_NAMED: Fields = (("Name", "name", _text),)
_ALIAS: Fields = (("IP", "ip", _text), ("Hostnames", "hostnames", _texts))
_GATE: Fields = (("ConditionType", "conditionType", _text),)
_SPEC: Fields = (
    ("Volumes", "volumes", _volumes),
    ("InitContainers", "initContainers", _list_of("core.Container", _CONTAINER)),
    ("Containers", "containers", _list_of("core.Container", _CONTAINER)),
    ("EphemeralContainers", "ephemeralContainers", _ephemeral),
    ("RestartPolicy", "restartPolicy", _text),
    ("TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", _pointer("int64")),
    ("ActiveDeadlineSeconds", "activeDeadlineSeconds", _pointer("int64")),
    ("DNSPolicy", "dnsPolicy", _text),
    ("NodeSelector", "nodeSelector", _map),
    ("ServiceAccountName", "serviceAccountName", _text),
    ("AutomountServiceAccountToken", "automountServiceAccountToken", _pointer("bool")),
    ("NodeName", "nodeName", _text),
    ("SecurityContext", "securityContext", _pointer("core.PodSecurityContext")),
    ("ImagePullSecrets", "imagePullSecrets", _list_of("core.LocalObjectReference", _NAMED)),
    ("Hostname", "hostname", _text),
    ("Subdomain", "subdomain", _text),
    ("SetHostnameAsFQDN", "setHostnameAsFQDN", _pointer("bool")),
    ("Affinity", "affinity", _pointer("core.Affinity")),
    ("SchedulerName", "schedulerName", _text),
    ("Tolerations", "tolerations", _list_of("core.Toleration", _TOLERATION)),
    ("HostAliases", "hostAliases", _list_of("core.HostAlias", _ALIAS)),
    ("PriorityClassName", "priorityClassName", _text),
    ("Priority", "priority", _pointer("int32")),
    ("PreemptionPolicy", "preemptionPolicy", _pointer("core.PreemptionPolicy")),
    ("DNSConfig", "dnsConfig", _pointer("core.PodDNSConfig")),
    ("ReadinessGates", "readinessGates", _list_of("core.PodReadinessGate", _GATE)),
    ("RuntimeClassName", "runtimeClassName", _pointer("string")),
    ("Overhead", "overhead", _amounts),
    ("EnableServiceLinks", "enableServiceLinks", _pointer("bool")),
    (
        "TopologySpreadConstraints",
        "topologySpreadConstraints",
        _list_of("core.TopologySpreadConstraint", _SPREADING),
    ),
    ("OS", "os", _pointer("core.PodOS")),
)


def shown_template(template: dict[str, Any]) -> GoValue:
    parts = {
        "ObjectMeta": go_composite("v1.ObjectMeta", _fields(template["metadata"], _METADATA)),
        "Spec": go_composite("core.PodSpec", _fields(template["spec"], _SPEC)),
    }
    return go_composite("core.PodTemplateSpec", parts)
