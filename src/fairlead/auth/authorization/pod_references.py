"""The objects that a pod or a persistent volume refers to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fairlead.codec.types.model import Object as Object
from fairlead.storage.version import Version

# Resource name, namespace and name of an object.
Vertex = tuple[str, str, str]

SECRETS, CONFIG_MAPS, CLAIMS = "secrets", "configmaps", "persistentvolumeclaims"
ACCOUNTS, VOLUMES, ATTACHMENTS = "serviceaccounts", "persistentvolumes", "volumeattachments"
DEVICE_CLAIMS, SLICES = "resourceclaims", "resourceslices"

# Pod volume sources that name a secret: the field of the reference, and the field of the name in
# it.
_POD_VOLUME_SECRETS: Final = {
    "azureFile": ("", "secretName"),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "secret": ("", "secretName"),
    "storageos": ("secretRef", "name"),
}
# Persistent volume sources with secrets that the node agent needs, and their reference fields.
_VOLUME_SECRETS: Final = {
    "cephfs": ("secretRef",),
    "cinder": ("secretRef",),
    "csi": ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"),
    "flexVolume": ("secretRef",),
    "iscsi": ("secretRef",),
    "rbd": ("secretRef",),
    "scaleIO": ("secretRef",),
    "storageos": ("secretRef",),
}
_CONTAINERS: Final[tuple[str, ...]] = ("initContainers", "containers", "ephemeralContainers")


def node_of(pod: Version | None) -> str:
    """The name of the node that a pod is bound to; empty if it is not bound."""
    if pod is None or pod.body is None:
        return ""
    if pod.known_fields is None and not pod.mentions("nodeName"):
        return ""  # fast path at startup: most stored pods need no parsing
    return pod.fields.get("spec.nodeName", "")


def pod_references(pod: Object) -> set[Vertex]:
    """All objects that the pod's node needs to read for it."""
    spec, metadata = pod["spec"], pod["metadata"]
    namespace = metadata["namespace"]
    references = {
        (kind, namespace, name) for kind, name in _pod_names(spec, metadata["name"]) if name
    }
    account = spec.get("serviceAccountName")
    if account:
        references.add((ACCOUNTS, namespace, account))
    for name in _device_claims(spec, pod.get("status") or {}):
        references.add((DEVICE_CLAIMS, namespace, name))
    return references


def _device_claims(spec: Object, status: Object) -> Iterator[str]:
    """The names of a pod's resource claims. The status names those made from a template."""
    from_templates = {
        entry.get("name"): entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or ()
    }
    for claim in spec.get("resourceClaims") or ():
        name = claim.get("resourceClaimName") or from_templates.get(claim.get("name"))
        if name:
            yield name
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    if extended:
        yield extended


def _pod_names(spec: Object, pod_name: str) -> Iterator[tuple[str, str]]:
    for reference in spec.get("imagePullSecrets") or ():
        yield SECRETS, reference.get("name", "")
    for containers in _CONTAINERS:
        for container in spec.get(containers) or ():
            yield from _container_names(container)
    for volume in spec.get("volumes") or ():
        yield from _volume_names(volume, pod_name)


def _container_names(container: Object) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        yield SECRETS, (source.get("secretRef") or {}).get("name", "")
        yield CONFIG_MAPS, (source.get("configMapRef") or {}).get("name", "")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield SECRETS, (source.get("secretKeyRef") or {}).get("name", "")
        yield CONFIG_MAPS, (source.get("configMapKeyRef") or {}).get("name", "")


def _volume_names(volume: Object, pod_name: str) -> Iterator[tuple[str, str]]:
    for source, (reference, name) in _POD_VOLUME_SECRETS.items():
        source_value = volume.get(source)
        if source_value:
            holder = (source_value.get(reference) or {}) if reference else source_value
            yield SECRETS, holder.get(name, "")
    if volume.get("configMap"):
        yield CONFIG_MAPS, volume["configMap"].get("name", "")
    for projection in (volume.get("projected") or {}).get("sources") or ():
        yield SECRETS, (projection.get("secret") or {}).get("name", "")
        yield CONFIG_MAPS, (projection.get("configMap") or {}).get("name", "")
    if volume.get("persistentVolumeClaim"):
        yield CLAIMS, volume["persistentVolumeClaim"]["claimName"]
    elif volume.get("ephemeral") is not None:
        yield CLAIMS, f"{pod_name}-{volume['name']}"


def volume_claim(volume: Object) -> Vertex | None:
    """The claim that a persistent volume is bound to."""
    claim = volume["spec"].get("claimRef")
    if not claim:
        return None
    return CLAIMS, claim.get("namespace", ""), claim.get("name", "")


def volume_secrets(volume: Object) -> set[Vertex]:
    """The secrets that a node needs to mount a persistent volume. References without a namespace
    are in the claim's namespace."""
    spec = volume["spec"]
    fallback = (spec.get("claimRef") or {}).get("namespace", "")
    secrets: set[Vertex] = set()
    azure = spec.get("azureFile")
    if azure and azure.get("secretName"):
        secrets.add((SECRETS, azure.get("secretNamespace") or fallback, azure["secretName"]))
    for source, fields in _VOLUME_SECRETS.items():
        for field in fields:
            reference = (spec.get(source) or {}).get(field)
            if reference and reference.get("name"):
                secrets.add((SECRETS, reference.get("namespace") or fallback, reference["name"]))
    return secrets
