"""A store in the reference's format, written to etcd key by key."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import Any

from support.etcd import Etcd

# Recorded from the etcd of clusters, as their servers wrote them.
NAMESPACE = base64.b64decode(
    "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEmIKSAoHZGVmYXVsdBIAGgAiACokZTU2YzMzMDgtMWVhOC0xMWU3LThjZDct"
    "ZjRlOWQ0OWY4ZWQwMgA4AEILCIn4sscFEKOg9xd6ABIMCgprdWJlcm5ldGVzGggKBkFjdGl2ZRoAIgA="
)
SERVICE = base64.b64decode(
    "azhzAAoNCgJ2MRIHU2VydmljZRLfCAqbBwoIa3ViZS1kbnMSABoLa3ViZS1zeXN0ZW0iACokZTc0MmExMWYtMzY4NC00"
    "ZThkLWJhOGEtZWZiY2E2YTM0YzMwMgA4AEIICL+hx4oGEABaEwoHazhzLWFwcBIIa3ViZS1kbnNaJQoda3ViZXJuZXRl"
    "cy5pby9jbHVzdGVyLXNlcnZpY2USBHRydWVaHQoSa3ViZXJuZXRlcy5pby9uYW1lEgdDb3JlRE5TYhoKEnByb21ldGhl"
    "dXMuaW8vcG9ydBIEOTE1M2IcChRwcm9tZXRoZXVzLmlvL3NjcmFwZRIEdHJ1ZXoAigGxBQoHa3ViZWFkbRIGVXBkYXRl"
    "GgJ2MSIICL+hx4oGEAAyCEZpZWxkc1YxOoMFCoAFeyJmOm1ldGFkYXRhIjp7ImY6YW5ub3RhdGlvbnMiOnsiLiI6e30s"
    "ImY6cHJvbWV0aGV1cy5pby9wb3J0Ijp7fSwiZjpwcm9tZXRoZXVzLmlvL3NjcmFwZSI6e319LCJmOmxhYmVscyI6eyIu"
    "Ijp7fSwiZjprOHMtYXBwIjp7fSwiZjprdWJlcm5ldGVzLmlvL2NsdXN0ZXItc2VydmljZSI6e30sImY6a3ViZXJuZXRl"
    "cy5pby9uYW1lIjp7fX19LCJmOnNwZWMiOnsiZjpjbHVzdGVySVAiOnt9LCJmOmludGVybmFsVHJhZmZpY1BvbGljeSI6"
    "e30sImY6cG9ydHMiOnsiLiI6e30sIms6e1wicG9ydFwiOjUzLFwicHJvdG9jb2xcIjpcIlRDUFwifSI6eyIuIjp7fSwi"
    "ZjpuYW1lIjp7fSwiZjpwb3J0Ijp7fSwiZjpwcm90b2NvbCI6e30sImY6dGFyZ2V0UG9ydCI6e319LCJrOntcInBvcnRc"
    "Ijo1MyxcInByb3RvY29sXCI6XCJVRFBcIn0iOnsiLiI6e30sImY6bmFtZSI6e30sImY6cG9ydCI6e30sImY6cHJvdG9j"
    "b2wiOnt9LCJmOnRhcmdldFBvcnQiOnt9fSwiazp7XCJwb3J0XCI6OTE1MyxcInByb3RvY29sXCI6XCJUQ1BcIn0iOnsi"
    "LiI6e30sImY6bmFtZSI6e30sImY6cG9ydCI6e30sImY6cHJvdG9jb2wiOnt9LCJmOnRhcmdldFBvcnQiOnt9fX0sImY6"
    "c2VsZWN0b3IiOnt9LCJmOnNlc3Npb25BZmZpbml0eSI6e30sImY6dHlwZSI6e319fUIAEroBChYKA2RucxIDVURQGDUi"
    "BggAEDUaACgAChoKB2Rucy10Y3ASA1RDUBg1IgYIABA1GgAoAAocCgdtZXRyaWNzEgNUQ1AYwUciBwgAEMFHGgAoABIT"
    "CgdrOHMtYXBwEghrdWJlLWRucxoKMTAuOTYuMC4xMCIJQ2x1c3RlcklQOgROb25lQgBSAFoAYABoAIoBC1NpbmdsZVN0"
    "YWNrkgEKMTAuOTYuMC4xMJoBBElQdjSyAQdDbHVzdGVyGgIKABoAIgA="
)

CREATED = "2024-01-02T03:04:05Z"
_NAMES = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
_CONDITIONS = [
    {"type": name, "status": "True", "lastTransitionTime": CREATED, "reason": "R", "message": ""}
    for name in ("NamesAccepted", "Established")
]
DEFINITION: dict[str, Any] = {
    "kind": "CustomResourceDefinition",
    "apiVersion": "apiextensions.k8s.io/v1beta1",
    "metadata": {"name": "widgets.example.com", "uid": "d", "creationTimestamp": CREATED},
    "spec": {
        "group": "example.com",
        "version": "v1",
        "names": _NAMES,
        "scope": "Namespaced",
        "validation": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}
                },
            }
        },
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": False,
    },
    "status": {"conditions": _CONDITIONS, "acceptedNames": _NAMES, "storedVersions": ["v1"]},
}
WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {
        "creationTimestamp": CREATED,
        "generation": 1,
        "name": "w",
        "namespace": "default",
        "uid": "w",
    },
    "spec": {"size": 3},
}
VALUES: dict[str, bytes] = {
    "/registry/namespaces/default": NAMESPACE,
    "/registry/services/specs/kube-system/kube-dns": SERVICE,
    "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com": json.dumps(
        DEFINITION
    ).encode(),
    "/registry/example.com/widgets/default/w": json.dumps(WIDGET).encode(),
    "/registry/ranges/serviceips": b"k8s\0\n\x15\n\x02v1\x12\x0fRangeAllocation\x12\x00",
    "/registry/masterleases/10.0.0.1": b"k8s\0\n\x0f\n\x02v1\x12\tEndpoints\x12\x00",
    "/registry/pods/default/broken": b"k8s\0\xff",
}


def fill(etcd: Etcd) -> None:
    for key, value in VALUES.items():
        put(etcd, key, value)


def put(etcd: Etcd, key: str, value: bytes) -> None:
    _etcdctl(etcd, "put", key, value=value)


def revision(etcd: Etcd) -> int:
    """Return the revision of the last write."""
    answer = json.loads(_etcdctl(etcd, "get", "--write-out=json", "none"))
    result: int = answer["header"]["revision"]
    return result


def value_at(etcd: Etcd, key: str) -> bytes:
    (entry,) = json.loads(_etcdctl(etcd, "get", "--write-out=json", key))["kvs"]
    return base64.b64decode(entry["value"])


def keys_below(etcd: Etcd, prefix: str) -> list[str]:
    answer = json.loads(
        _etcdctl(etcd, "get", "--prefix", "--keys-only", "--write-out=json", prefix)
    )
    return [base64.b64decode(entry["key"]).decode() for entry in answer.get("kvs", ())]


def _etcdctl(etcd: Etcd, *words: str, value: bytes = b"") -> bytes:
    command = ["etcdctl", "--endpoints", etcd.url, *words]
    environment = {"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = subprocess.run(command, input=value, capture_output=True, check=True, env=environment)
    return done.stdout
