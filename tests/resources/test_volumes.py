"""The rules of volume sources, in pods and in persistent volumes."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space
from support.pod_rules import PODS, Found, Object, brief, pod, wrong

from fairlead.resources.causes import Causes
from fairlead.resources.core.volumes.persistent import check_persistent_sources

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
ITEM = {"key": "k", "path": "p"}
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}
TOKEN = {"serviceAccountToken": {"path": "t"}}


def _projected(*sources: Object) -> Object:
    return {"projected": {"sources": list(sources)}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"emptyDir": {"sizeLimit": "-1"}}, [("emptyDir.sizeLimit", "forbidden")]),
        ({"hostPath": {}}, [("hostPath.path", "required")]),
        (
            {"hostPath": {"path": "/a/../b", "type": "X"}},
            [("hostPath.path", "invalid"), ("hostPath.type", "unsupported")],
        ),
        (
            {"gitRepo": {"directory": "/x/.."}},
            [
                ("gitRepo.repository", "required"),
                ("gitRepo.directory", "invalid"),
                ("gitRepo.directory", "invalid"),
            ],
        ),
        (
            {"gcePersistentDisk": {"partition": 256}},
            [("persistentDisk.pdName", "required"), ("persistentDisk.partition", "invalid")],
        ),
        ({"awsElasticBlockStore": {}}, [("awsElasticBlockStore.volumeID", "required")]),
        ({"secret": {}}, [("secret.secretName", "required")]),
        ({"secret": {"secretName": "s", "defaultMode": 512}}, [("secret.defaultMode", "invalid")]),
        (
            {"configMap": {"name": "c", "items": [{"key": "", "path": "", "mode": -1}]}},
            [
                ("configMap.items[0].key", "required"),
                ("configMap.items[0].path", "required"),
                ("configMap.items[0].mode", "invalid"),
            ],
        ),
        (
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "..data"}]}},
            [("configMap.items[0].path", "invalid")],
        ),
        (
            {"nfs": {}},
            [("nfs.server", "required"), ("nfs.path", "required"), ("nfs.path", "invalid")],
        ),
        ({"glusterfs": {}}, [("glusterfs.endpoints", "required"), ("glusterfs.path", "required")]),
        ({"flocker": {}}, [("flocker", "required")]),
        (
            {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
            [("flocker", "invalid"), ("flocker.datasetName", "invalid")],
        ),
        ({"persistentVolumeClaim": {}}, [("persistentVolumeClaim.claimName", "required")]),
        ({"rbd": {}}, [("rbd.monitors", "required"), ("rbd.image", "required")]),
        (
            {"cinder": {"secretRef": {}}},
            [("cinder.volumeID", "required"), ("cinder.secretRef.name", "required")],
        ),
        ({"cephfs": {}}, [("cephfs.monitors", "required")]),
        (
            {"quobyte": {"registry": "x"}},
            [("quobyte.registry", "invalid"), ("quobyte.volume", "required")],
        ),
        ({"downwardAPI": {"items": [{"path": "a"}]}}, [("downwardAPI", "required")]),
        (
            {
                "downwardAPI": {
                    "items": [
                        {"path": "a", "fieldRef": {"fieldPath": "status.podIP"}},
                        {"path": "b", "resourceFieldRef": {"resource": "limits.cpu"}},
                    ]
                }
            },
            [
                ("downwardAPI.fieldRef.fieldPath", "unsupported"),
                ("downwardAPI.resourceFieldRef.containerName", "required"),
            ],
        ),
        ({"fc": {}}, [("fc.targetWWNs", "required")]),
        ({"fc": {"targetWWNs": ["a"]}}, [("fc.lun", "required")]),
        (
            {"fc": {"targetWWNs": ["a"], "wwids": ["b"], "lun": 256}},
            [("fc.targetWWNs", "invalid"), ("fc.lun", "invalid")],
        ),
        (
            {"flexVolume": {"options": {"x.kubernetes.io/y": "z"}}},
            [
                ("flexVolume.driver", "required"),
                ("flexVolume.options[x.kubernetes.io/y]", "invalid"),
            ],
        ),
        (
            {"azureFile": {}},
            [("azureFile.secretName", "required"), ("azureFile.shareName", "required")],
        ),
        ({"vsphereVolume": {}}, [("vsphereVolume.volumePath", "required")]),
        ({"photonPersistentDisk": {}}, [("photonPersistentDisk.pdID", "required")]),
        ({"portworxVolume": {}}, [("portworxVolume.volumeID", "required")]),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed"}},
            [("azureDisk.diskURI", "unsupported")],
        ),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "https://x", "cachingMode": "X"}},
            [("azureDisk.cachingMode", "unsupported")],
        ),
        ({"storageos": {"volumeName": "A"}}, [("storageos.volumeName", "invalid")]),
        (
            {"scaleIO": {}},
            [
                ("scaleIO.gateway", "required"),
                ("scaleIO.system", "required"),
                ("scaleIO.volumeName", "required"),
            ],
        ),
        ({"csi": {}}, [("csi.driver", "required"), ("csi.driver", "invalid")]),
        (
            {"csi": {"driver": "d" * 64, "nodePublishSecretRef": {"name": "S"}}},
            [("csi.driver", "too long"), ("csi.name", "invalid")],
        ),
        ({"ephemeral": {}}, [("ephemeral.volumeClaimTemplate", "required")]),
        (
            {"iscsi": {"targetPortal": "p", "iqn": "x", "lun": 256, "chapAuthSession": True}},
            [("iscsi.iqn", "invalid"), ("iscsi.lun", "invalid"), ("iscsi.secretRef", "required")],
        ),
        (
            {
                "iscsi": {
                    "targetPortal": "p" * 70,
                    "iqn": "iqn.2001-04.com.example:x",
                    "lun": 1,
                    "initiatorName": "eui.1",
                }
            },
            [("iscsi.initiatorname", "invalid"), ("name", "invalid")],
        ),
        (
            {"emptyDir": {}, "cephfs": {}, "downwardAPI": {}},
            [("cephFS", "forbidden"), ("downwarAPI", "forbidden")],
        ),
    ],
)
def test_sources(source: Object, expected: list[tuple[str, str]]) -> None:
    errors = wrong(pod(volumes=[{"name": "v", **source}]))
    assert [(field, reason) for field, reason, _ in errors] == [
        (f"spec.volumes[0].{field}", reason) for field, reason in expected
    ]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([{"secret": {"name": "s"}, "configMap": {"name": "c"}}], [("sources[0]", "forbidden")]),
        ([{"secret": {}}], [("sources[0].secret.name", "required")]),
        (
            [
                {"secret": {"name": "s", "items": [ITEM]}},
                {"configMap": {"name": "c", "items": [ITEM]}},
            ],
            [("", "invalid")],
        ),
        ([TOKEN], []),
        (
            [{"serviceAccountToken": {"path": "", "expirationSeconds": 599}}],
            [
                ("sources[0].serviceAccountToken.expirationSeconds", "invalid"),
                ("path", "required"),
            ],
        ),
        (
            [{"serviceAccountToken": {"path": "t", "expirationSeconds": 2**32 + 1}}],
            [("sources[0].serviceAccountToken.expirationSeconds", "invalid")],
        ),
    ],
)
def test_projected(sources: list[Object], expected: list[tuple[str, str]]) -> None:
    volumes = [{"name": "v", **_projected(*sources)}]
    errors = wrong(pod(serviceAccountName="robot", volumes=volumes))
    base = "spec.volumes[0].projected"
    assert [(field, reason) for field, reason, _ in errors] == [
        (f"{base}.{field}" if field else base, reason) for field, reason in expected
    ]


def test_tokens_need_a_service_account() -> None:
    errors = wrong(pod(volumes=[{"name": "v", **_projected(TOKEN)}]))
    path = "spec.volumes[0].projected.sources[0].serviceAccountToken"
    detail = "must not be specified when serviceAccountName is not set"
    assert errors == [(path, "forbidden", detail)]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (CLAIM, []),
        ({**CLAIM, "metadata": {"labels": {"a": "b"}}}, []),
        ({**CLAIM, "metadata": {"name": "x"}}, [("metadata.name", "forbidden")]),
        (
            {"spec": {}},
            [("spec.accessModes", "required"), ("spec.resources[storage]", "required")],
        ),
        (
            {
                "spec": {
                    "accessModes": ["ReadWriteOncePod"],
                    "resources": {"requests": {"storage": "0"}},
                }
            },
            [("spec.accessModes", "unsupported"), ("spec.resources[storage]", "invalid")],
        ),
        (
            {"spec": {**CLAIM["spec"], "dataSource": {"kind": "X", "name": ""}}},
            [("spec.dataSource.name", "required"), ("spec.dataSource", "invalid")],
        ),
    ],
)
def test_claim_templates(template: Object, expected: list[tuple[str, str]]) -> None:
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}
    errors = wrong(pod(volumes=[volume]))
    base = "spec.volumes[0].ephemeral.volumeClaimTemplate"
    assert [(field, reason) for field, reason, _ in errors] == [
        (f"{base}.{field}", reason) for field, reason in expected
    ]


def test_a_claim_template_has_no_name() -> None:
    template = {**CLAIM, "metadata": {"name": "x"}}
    path = "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name"
    errors = wrong(pod(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]))
    assert errors == [(path, "forbidden", "cannot be set for an ephemeral volume")]


def test_claims_are_named_after_pod_and_volume() -> None:
    brought = {"name": "v", "ephemeral": {"volumeClaimTemplate": CLAIM}}
    used = {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}}
    detail = '"p-v": must not reference a PVC that gets created for an ephemeral volume'
    path = "spec.volumes[1].persistentVolumeClaim.claimName"
    assert wrong(pod(volumes=[brought, used])) == [(path, "invalid", detail)]
    long = {**pod(volumes=[brought]), "metadata": {"name": "n" * 253}}
    claim = "n" * 253 + "-v"
    message = f'"v": PVC name "{claim}": must be no more than 253 characters'
    assert wrong(long) == [("spec.volumes[0].name", "invalid", message)]


def test_names_of_volumes() -> None:
    volumes: list[Any] = [{"name": "v"}, {"name": "v"}, {"name": ""}, {"name": "A"}]
    assert [(field, reason) for field, reason, _ in wrong(pod(volumes=volumes))] == [
        ("spec.volumes[1].name", "duplicate"),
        ("spec.volumes[2].name", "required"),
        ("spec.volumes[3].name", "invalid"),
    ]


def test_modes_are_octal() -> None:
    errors = wrong(pod(volumes=[{"name": "v", "secret": {"secretName": "s", "defaultMode": 512}}]))
    assert errors == [("spec.volumes[0].secret.defaultMode", "invalid", f"512: {MODE}")]


def _persistent(spec: Object) -> Found:
    causes = Causes()
    check_persistent_sources(spec, "pv", "spec", causes, PODS.context())
    return brief(causes)


def test_persistent_volumes_have_one_source() -> None:
    assert _persistent({}) == [("spec", "required", "must specify a volume type")]
    result = _persistent({"nfs": {"server": "s", "path": "/p"}, "local": {"path": "/x"}})
    assert result == [("spec.local", "forbidden", "may not specify more than 1 volume type")]


def test_a_flexible_volume_may_stand_beside_an_earlier_source() -> None:
    host, flexible = {"hostPath": {"path": "/x"}}, {"flexVolume": {"driver": "d"}}
    assert _persistent(host | flexible) == []
    detail = "may not specify more than 1 volume type"
    result = _persistent(flexible | {"local": {"path": "/x"}})
    assert result == [("spec.local", "forbidden", detail)]


def test_secrets_of_persistent_volumes_are_named_in_full() -> None:
    source = {"driver": "d", "volumeHandle": "", "nodePublishSecretRef": {"name": "s"}}
    assert _persistent({"csi": source}) == [
        ("spec.csi.volumeHandle", "required", ""),
        ("spec.csi.nodePublishSecretRef.namespace", "required", ""),
    ]


def _pod_with(source: Object) -> Object:
    container = {"name": "c", "image": "i"}
    spec = {"automountServiceAccountToken": False, "containers": [container]}
    return {"metadata": {"name": "p"}, "spec": {**spec, "volumes": [{"name": "v", **source}]}}


@pytest.fixture
def ready(space: Space) -> Space:
    space.ready_for_pods()
    return space


@pytest.mark.both_dialects
def test_a_pod_may_have_a_local_volume_as_specified(ready: Space) -> None:
    pods, source = ready.collection("pods"), {"local": {"path": "/disk", "fsType": "ext4"}}
    answer = pods.client.post(pods.path, _pod_with(source))
    assert answer.status == 201
    kept = ready.dialect.local_pod_volumes
    result = source if kept else {"emptyDir": {}}  # as if it said nothing of its source
    assert pods.read("p")["spec"]["volumes"] == [{"name": "v", **result}]
    accept = {"Accept": ready.dialect.protobuf_media_type}
    message = pods.client.get(pods.item("p"), headers=accept).content
    assert (message[:4], b"/disk" in message) == (b"k8s\0", kept)


def test_a_local_volume_of_a_pod_needs_a_path(cluster: Space) -> None:
    cluster.ready_for_pods()
    pods = cluster.collection("pods")
    answer = pods.client.post(pods.path, _pod_with({"local": {"path": ""}}))
    assert answer.status == 422
    assert [cause[0] for cause in answer.causes] == ["spec.volumes[0].local.path"]
