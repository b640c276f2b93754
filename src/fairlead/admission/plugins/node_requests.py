"""Rules of NodeRestriction for tokens, certificates, devices and mirror pods, as far as later
releases have added to them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator

from cryptography.x509 import load_der_x509_csr
from cryptography.x509.oid import NameOID

from fairlead.admission.plugin import CREATE, DELETE, Attributes
from fairlead.admission.plugins.base import Object, mutation_error
from fairlead.auth.authorization.attributes import Attributes as AccessAttributes
from fairlead.auth.authorization.attributes import Decision
from fairlead.auth.authorization.node import NODE_PREFIX
from fairlead.auth.authorization.pod_references import CONFIG_MAPS, SECRETS, pod_references
from fairlead.base.dialect import Dialect
from fairlead.resources.certificates.pem import blocks

CLAIMS, VOLUMES = "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes"
CSI_DRIVERS = "storage/v1/csidrivers"

Decide = Callable[[AccessAttributes], Awaitable[Decision]]


# Tokens: a node may request the audiences that the volumes of its pod need.


async def check_audience(attributes: Attributes, pod: Object, decide: Decide) -> None:
    """Raises StatusError if the pod needs no token for the requested audience and no role of the
    node allows it."""
    assert attributes.value is not None
    audiences = attributes.value["spec"].get("audiences") or [""]
    if len(audiences) > 1:
        raise mutation_error(attributes, "node may only request 0 or 1 audiences")
    audience: str = audiences[0]
    problems: list[str] = []
    if audience in _needed_audiences(attributes, pod, problems):
        return
    if problems:
        shown = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise mutation_error(attributes, f'error validating audience "{audience}": {shown}')
    user = attributes.user
    decision = await decide(
        AccessAttributes(
            user,
            "request-serviceaccounts-token-audience",
            version="v1",
            resource=audience,
            namespace=attributes.namespace,
            name=attributes.name,
        )
    )
    if not decision.allowed:
        raise mutation_error(
            attributes,
            f'audience "{audience}" not found in pod spec volume, {user.name} is not authorized to'
            " request tokens for this audience",
        )


def _needed_audiences(attributes: Attributes, pod: Object, problems: list[str]) -> Iterator[str]:
    """The audiences of projected tokens and of the drivers of volumes."""
    find = attributes.context.lookup
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if (token := source.get("serviceAccountToken")) is not None:
                yield token.get("audience", "")
        name = (volume.get("csi") or {}).get("driver", "")
        if claim := _claim_name(pod, volume):
            name = _driver_of(attributes, claim, problems)
        if not name:
            continue
        driver = find(CSI_DRIVERS, "", name)
        if driver is None:
            problems.append(f'csidriver.storage.k8s.io "{name}" not found')
            continue
        for request in driver["spec"].get("tokenRequests") or ():
            yield request.get("audience", "")


def _claim_name(pod: Object, volume: Object) -> str:
    if (volume.get("ephemeral") or {}).get("volumeClaimTemplate") is not None:
        return f"{pod['metadata']['name']}-{volume['name']}"
    name: str = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    return name


def _driver_of(attributes: Attributes, claim_name: str, problems: list[str]) -> str:
    """The driver of the volume that is bound to a claim; empty if it has none."""
    find = attributes.context.lookup
    claim = find(CLAIMS, attributes.namespace, claim_name)
    if claim is None:
        problems.append(f'persistentvolumeclaim "{claim_name}" not found')
        return ""
    name = claim["spec"].get("volumeName", "")
    volume = find(VOLUMES, "", name)
    if volume is None:
        problems.append(f'persistentvolume "{name}" not found')
        return ""
    driver: str = (volume["spec"].get("csi") or {}).get("driver", "")
    return driver


# Resource slices and certificates


def slice_error(node: str, attributes: Attributes) -> str:
    """A node creates and deletes its own resource slices; the authorizer checks other verbs."""
    checked = {CREATE: attributes.value, DELETE: attributes.old}.get(attributes.operation)
    if checked is None or (checked.get("spec") or {}).get("nodeName") == node:
        return ""
    verb = attributes.operation.lower()
    return f"can only {verb} ResourceSlice with the same NodeName as the requesting node"


def signing_request_error(node: str, attributes: Attributes, dialect: Dialect) -> str:
    """A node requests certificates for nodes in its own name only."""
    if attributes.operation != CREATE or attributes.value is None:
        return ""
    spec = attributes.value.get("spec") or {}
    if spec.get("signerName") not in (dialect.signer_node_serving, dialect.signer_client_node):
        return ""
    try:
        name = _common_name(b64decode(spec.get("request") or ""))
    except ValueError as error:
        return f"unable to parse csr: {error}"
    if name != f"{NODE_PREFIX}{node}":
        return f"can only create a node CSR with CN={NODE_PREFIX}{node}"
    return ""


def _common_name(pem: bytes) -> str | bytes:
    block = next(blocks(pem), None)
    if block is None:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    names = load_der_x509_csr(block.der).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return names[-1].value if names else ""


# Mirror pods: they must not refer to objects of the API.

_REFERRING_VOLUMES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_REFERRING_SOURCES = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def referred_objects(pod: Object, namespace: str, name: str) -> str:
    """The kind of objects that a pod refers to, as messages show it; empty if it refers to none."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    metadata = {"namespace": namespace, "name": name}
    kinds = {kind for kind, _, _ in pod_references({"metadata": metadata, "spec": spec})}
    for kind in (SECRETS, CONFIG_MAPS):
        if kind in kinds:
            return kind
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        for source, shown in _REFERRING_VOLUMES.items():
            if volume.get(source) is not None:
                return shown
        for projection in (volume.get("projected") or {}).get("sources") or ():
            for source, shown in _REFERRING_SOURCES.items():
                if projection.get(source) is not None:
                    return shown
    return ""
