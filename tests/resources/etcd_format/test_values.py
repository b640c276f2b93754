"""Values in etcd: the reference can read ours, and we can read its."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from support.messages import stored, without_empty
from support.reference_store import NAMESPACE, SERVICE

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.protobuf import envelope_around, writer
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.etcd_format.codec import InterchangeError, ReferenceCodec
from fairlead.resources.etcd_format.encryption import EncryptedCodec, EncryptedRows
from fairlead.resources.registry import Resources
from fairlead.storage.backend import StorageError
from fairlead.storage.encryption.ciphers import AesGcm
from fairlead.storage.encryption.keyring import Sealed, Sealing, named_key

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
CODEC = ReferenceCodec(RESOURCES)
DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions"
CREATED = "2024-01-02T03:04:05Z"
SECONDS = 1704164645
META = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": CREATED}
WIRE_META = {
    "name": "a",
    "namespace": "n",
    "uid": "u",
    "creationTimestamp": {"seconds": SECONDS, "nanos": 0},
}


def encoded(resource: str, api_version: str, value: dict[str, Any], key: str = "n/a") -> bytes:
    return CODEC.encode(resource, key, api_version, orjson.dumps(value))


def decoded(resource: str, raw: bytes, key: str = "n/a") -> tuple[str, dict[str, Any]]:
    api_version, value = CODEC.decode(resource, key, raw)
    assert value.startswith(b'{"metadata":{"name":')
    return api_version, orjson.loads(value)


def in_envelope(api_version: str, kind: str, key: str, value: dict[str, Any]) -> bytes:
    body = writer(RESOURCES.named(key).struct)(value)
    opening, closing = envelope_around(api_version, kind, len(body))
    return opening + body + closing


OWNED = {
    "manager": "m",
    "operation": "Update",
    "apiVersion": "v1",
    "time": CREATED,
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {".": {}}},
}
CONTAINER = {
    "name": "c",
    "image": "i",
    "ports": [{"containerPort": 80, "protocol": "TCP"}],
    "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    "resources": {"limits": {"cpu": "100m"}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 10},
}
WIRE_CONTAINER = {
    "name": "c",
    "image": "i",
    "ports": [{"containerPort": 80, "protocol": "TCP"}],
    "env": [
        {
            "name": "E",
            "valueFrom": {
                "secretKeyRef": {"localObjectReference": {"name": "s"}, "key": "k"},
            },
        }
    ],
    "resources": {"limits": {"cpu": {"string": "100m"}}},
    "livenessProbe": {
        "handler": {"httpGet": {"path": "/", "port": {"type": 1, "intVal": 0, "strVal": "http"}}},
        "periodSeconds": 10,
    },
}
ONE = {"type": 0, "intVal": 1, "strVal": ""}
# The resource, the apiVersion, the value, and the fields of the message.
WRITTEN: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "core/configmaps",
        "v1",
        {
            "metadata": {**META, "labels": {"a": "b"}, "managedFields": [OWNED]},
            "data": {"k": "ü"},
            "binaryData": {"b": "AP8="},
            "immutable": True,
        },
        {
            "metadata": {
                **WIRE_META,
                "labels": {"a": "b"},
                "managedFields": [
                    {
                        **OWNED,
                        "time": {"seconds": SECONDS, "nanos": 0},
                        "fieldsV1": {"raw": b'{"f:data":{".":{}}}'},
                    }
                ],
            },
            "data": {"k": "ü"},
            "binaryData": {"b": b"\x00\xff"},
            "immutable": 1,
        },
    ),
    (
        "core/secrets",
        "v1",
        {"metadata": META, "data": {"p": "c2VjcmV0", "e": ""}, "type": "Opaque"},
        {"metadata": WIRE_META, "data": {"p": b"secret", "e": b""}, "type": "Opaque"},
    ),
    (
        "core/pods",
        "v1",
        {
            "metadata": META,
            "spec": {
                "volumes": [
                    {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}},
                    {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
                ],
                "containers": [CONTAINER],
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "hostNetwork": True,
            },
            "status": {"phase": "Running", "startTime": CREATED},
        },
        {
            "metadata": WIRE_META,
            "spec": {
                "volumes": [
                    {
                        "name": "e",
                        "volumeSource": {"emptyDir": {"sizeLimit": {"string": "1Gi"}}},
                    },
                    {
                        "name": "s",
                        "volumeSource": {"secret": {"secretName": "s", "defaultMode": 420}},
                    },
                ],
                "containers": [WIRE_CONTAINER],
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "hostNetwork": 1,
            },
            "status": {"phase": "Running", "startTime": {"seconds": SECONDS, "nanos": 0}},
        },
    ),
    (
        "apps/deployments",
        "apps/v1",
        {
            "metadata": META,
            "spec": {
                "replicas": 0,
                "selector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}],
                },
                "template": {"metadata": {"creationTimestamp": None}, "spec": {"containers": []}},
                "strategy": {"rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}},
            },
        },
        {
            "metadata": WIRE_META,
            "spec": {
                "replicas": 0,
                "selector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}],
                },
                "template": {"metadata": {}, "spec": {}},
                "strategy": {
                    "rollingUpdate": {
                        "maxUnavailable": {"type": 1, "intVal": 0, "strVal": "25%"},
                        "maxSurge": ONE,
                    }
                },
            },
        },
    ),
    (
        "coordination.k8s.io/leases",
        "coordination.k8s.io/v1",
        {
            "metadata": META,
            "spec": {"holderIdentity": "me", "renewTime": "2024-01-02T03:04:05.123456Z"},
        },
        {
            "metadata": WIRE_META,
            "spec": {
                "holderIdentity": "me",
                "renewTime": {"seconds": SECONDS, "nanos": 123456000},
            },
        },
    ),
    (
        "rbac.authorization.k8s.io/clusterroles",
        "rbac.authorization.k8s.io/v1",
        {"metadata": META, "rules": [{"verbs": ["get", "*"], "apiGroups": [""]}]},
        {"metadata": WIRE_META, "rules": [{"verbs": ["get", "*"], "apiGroups": [""]}]},
    ),
    (
        "certificates.k8s.io/certificatesigningrequests",
        "certificates.k8s.io/v1",
        {
            "metadata": META,
            "spec": {"request": "AAE=", "extra": {"e": ["x", "y"]}, "signerName": "s/s"},
        },
        {
            "metadata": WIRE_META,
            "spec": {
                "request": b"\x00\x01",
                "extra": {"e": {"items": ["x", "y"]}},
                "signerName": "s/s",
            },
        },
    ),
    (
        "apps/controllerrevisions",
        "apps/v1",
        {"metadata": META, "data": {"spec": {"x": 1}}, "revision": 3},
        {"metadata": WIRE_META, "data": {"raw": b'{"spec":{"x":1}}'}, "revision": 3},
    ),
]


@pytest.mark.parametrize(("resource", "api_version", "value", "fields"), WRITTEN)
def test_another_reader_finds_what_was_written(
    resource: str, api_version: str, value: dict[str, Any], fields: dict[str, Any]
) -> None:
    version, kind, errors = stored(encoded(resource, api_version, value))
    assert (version, kind) == (api_version, RESOURCES.of_kind(api_version, kind)[0].kind)
    assert without_empty(errors) == without_empty(fields)


def test_a_namespace_of_a_real_cluster_is_read() -> None:
    api_version, value = decoded("core/namespaces", NAMESPACE, "default")
    assert api_version == "v1"
    assert value == {
        "metadata": {
            "name": "default",
            "uid": "e56c3308-1ea8-11e7-8cd7-f4e9d49f8ed0",
            "creationTimestamp": "2017-04-11T11:20:41Z",
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_a_service_of_a_real_cluster_is_read() -> None:
    _, value = decoded("core/services", SERVICE, "kube-system/kube-dns")
    (entry,) = value["metadata"].pop("managedFields")
    assert entry["fieldsV1"]["f:spec"]["f:clusterIP"] == {}
    assert value == {
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "uid": "e742a11f-3684-4e8d-ba8a-efbca6a34c30",
            "creationTimestamp": "2021-09-27T14:10:07Z",
            "labels": {
                "k8s-app": "kube-dns",
                "kubernetes.io/cluster-service": "true",
                "kubernetes.io/name": "CoreDNS",
            },
            "annotations": {"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
        },
        "spec": {
            "ports": [
                {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 53},
                {"name": "dns-tcp", "protocol": "TCP", "port": 53, "targetPort": 53},
                {"name": "metrics", "protocol": "TCP", "port": 9153, "targetPort": 9153},
            ],
            "selector": {"k8s-app": "kube-dns"},
            "clusterIP": "10.96.0.10",
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilyPolicy": "SingleStack",
            "clusterIPs": ["10.96.0.10"],
            "ipFamilies": ["IPv4"],
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }


class TestJson:
    def test_built_in_kinds_are_read_from_json_too(self) -> None:
        raw = orjson.dumps(
            {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"namespace": "n", "selfLink": "/x", "resourceVersion": "5", **META},
                "data": {"k": "v"},
                "unknown": 1,
            }
        )
        assert decoded("core/configmaps", raw) == ("v1", {"metadata": META, "data": {"k": "v"}})

    def test_definitions_are_written_as_json(self) -> None:
        raw = encoded(DEFINITIONS, "apiextensions.k8s.io/v1", definition(), "widgets.example.com")
        numbers = orjson.loads(raw)
        assert numbers["kind"] == "CustomResourceDefinition"
        assert numbers["apiVersion"] == "apiextensions.k8s.io/v1"
        assert decoded(DEFINITIONS, raw, "widgets.example.com")[1]["spec"] == numbers["spec"]

    def test_custom_objects_are_written_as_json_of_their_kind(self) -> None:
        codec = ReferenceCodec(RESOURCES)
        codec.encode(DEFINITIONS, "d", "apiextensions.k8s.io/v1", orjson.dumps(definition()))
        row = orjson.dumps({"metadata": META, "spec": {"x": [1.5, None]}})
        raw = codec.encode("example.com/widgets", "n/a", "example.com/v1", row)
        kinds = {"kind": "Widget", "apiVersion": "example.com/v1"}
        assert orjson.loads(raw) == {**kinds, **orjson.loads(row)}
        assert codec.decode("example.com/widgets", "n/a", raw) == ("example.com/v1", row)

    def test_a_definition_that_was_read_tells_the_kind_as_well(self) -> None:
        codec, row = ReferenceCodec(RESOURCES), orjson.dumps({"metadata": META})
        with pytest.raises(InterchangeError, match="no definition says"):
            codec.encode("example.com/widgets", "n/a", "example.com/v1", row)
        kinds = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
        codec.decode(DEFINITIONS, "d", orjson.dumps({**kinds, **definition()}))
        raw = codec.encode("example.com/widgets", "n/a", "example.com/v1", row)
        assert orjson.loads(raw)["kind"] == "Widget"

    def test_custom_objects_of_the_reference_are_read(self) -> None:
        """It sorts the fields."""
        raw = (
            b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"creationTimestamp":'
            b'"2024-01-02T03:04:05Z","generation":1,"name":"a","namespace":"n","uid":"u"},'
            b'"spec":{"x":1}}\n'
        )
        api_version, value = CODEC.decode("example.com/widgets", "n/a", raw)
        assert api_version == "example.com/v1"
        assert value == (
            b'{"metadata":{"name":"a","namespace":"n","uid":"u","generation":1,'
            b'"creationTimestamp":"2024-01-02T03:04:05Z"},"spec":{"x":1}}'
        )


def definition() -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    return {
        "metadata": {"name": "widgets.example.com", "uid": "u", "creationTimestamp": CREATED},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
            "conversion": {"strategy": "None"},
        },
        "status": {"conditions": None, "acceptedNames": names, "storedVersions": ["v1"]},
    }


class TestOtherVersions:
    def test_definitions_are_read_in_the_version_that_the_reference_keeps(self) -> None:
        """Which is v1beta1: what versions have in common stands beside them."""
        schema = {"openAPIV3Schema": {"type": "object"}}
        column = {"name": "X", "type": "string", "JSONPath": ".spec.x"}
        raw = {
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1beta1",
            **definition(),
            "spec": {
                "group": "example.com",
                "version": "v1",
                "names": {"plural": "widgets", "kind": "Widget"},
                "scope": "Namespaced",
                "validation": schema,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [column],
                "versions": [
                    {"name": "v1", "served": True, "storage": True},
                    {"name": "v2", "served": True, "storage": False},
                ],
                "conversion": {
                    "strategy": "Webhook",
                    "webhookClientConfig": {"url": "https://example.com"},
                    "conversionReviewVersions": ["v1"],
                },
                "preserveUnknownFields": False,
            },
        }
        api_version, value = decoded(DEFINITIONS, orjson.dumps(raw), "widgets.example.com")
        assert api_version == "apiextensions.k8s.io/v1"
        common = {
            "schema": schema,
            "subresources": {"status": {}},
            "additionalPrinterColumns": [
                {"name": "X", "type": "string", "jsonPath": ".spec.x"},
            ],
        }
        assert value["spec"] == {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, **common},
                {"name": "v2", "served": True, "storage": False, **common},
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "https://example.com"},
                    "conversionReviewVersions": ["v1"],
                },
            },
        }

    def test_an_old_definition_of_one_version_keeps_unknown_fields(self) -> None:
        raw = {
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1beta1",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "version": "v1",
                "names": {"plural": "widgets", "kind": "Widget"},
            },
        }
        _, value = decoded(DEFINITIONS, orjson.dumps(raw), "widgets.example.com")
        assert value["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True}]
        assert value["spec"]["preserveUnknownFields"] is True
        assert value["spec"]["scope"] == "Namespaced"
        assert value["spec"]["conversion"] == {"strategy": "None"}

    def test_what_is_kept_in_another_served_version_is_converted(self) -> None:
        scaled = {
            "metadata": META,
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 50,
            },
            "status": {"currentReplicas": 1, "desiredReplicas": 1},
        }
        key = "autoscaling/v1/horizontalpodautoscalers"
        raw = in_envelope("autoscaling/v1", "HorizontalPodAutoscaler", key, scaled)
        api_version, value = decoded("autoscaling/horizontalpodautoscalers", raw)
        assert api_version == "autoscaling/v2"
        (metric,) = value["spec"]["metrics"]
        assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}

    def test_what_has_the_same_shape_in_a_former_version_is_read(self) -> None:
        raw = in_envelope("batch/v1beta1", "CronJob", "batch/v1/cronjobs", {"metadata": META})
        assert decoded("batch/cronjobs", raw)[0] == "batch/v1"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ({}, {"matchExpressions": [{"key": "K", "operator": "Exists"}]}),
            ({"matchExpressions": [{"key": "K", "operator": "DoesNotExist"}]}, {}),
            ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}}),
        ],
    )
    def test_selectors_of_old_budgets_select_what_they_did(
        self, old: dict[str, Any], new: dict[str, Any]
    ) -> None:
        label = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
        named = orjson.loads(orjson.dumps([old, new]).replace(b'"K"', f'"{label}"'.encode()))
        budget = {"metadata": META, "spec": {"selector": named[0]}}
        key = "policy/v1/poddisruptionbudgets"
        raw = in_envelope("policy/v1beta1", "PodDisruptionBudget", key, budget)
        _, value = decoded("policy/poddisruptionbudgets", raw)
        assert value["spec"]["selector"] == named[1]


class TestUnreadable:
    @pytest.mark.parametrize(
        ("resource", "raw", "why"),
        [
            ("core/pods", b"", "n/a: "),
            ("core/pods", b"k8s\0", "empty body"),
            ("core/pods", b"k8s\0\xff\xff", "n/a: "),
            ("core/pods", b"[1]", "is malformed"),
            ("core/pods", b'"x"', "is malformed"),
            ("core/pods", b'{"kind":"Pod","apiVersion":"v1"}', "has no name"),
            ("core/pods", b'{"kind":"Pod","apiVersion":"v1","metadata":[]}', "n/a: "),
            ("core/pods", b'{"kind":"Pod","apiVersion":"v1","metadata":{}}', "has no name"),
            ("core/pods", b'{"kind":"Pod","apiVersion":["v1"],"metadata":{}}', "is malformed"),
            ("core/pods", b'{"kind":"Node","apiVersion":"v1","metadata":{}}', "v1 Node cannot"),
            ("example.com/widgets", b'{"metadata":{"name":"a"}}', "is malformed"),
            (
                "example.com/widgets",
                b'{"kind":"W","apiVersion":"v","metadata":{"name":"a","labels":1}}',
                "cannot unmarshal number into",
            ),
            ("example.com/widgets", b'{"kind":"W","apiVersion":"v","metadata":3}', "cannot"),
            ("discovery.k8s.io/endpointslices", b'{"kind":"E","apiVersion":"x/v9"}', "x/v9 E"),
            (DEFINITIONS, b'{"kind":"CustomResourceDefinition","apiVersion":"x"}', "cannot"),
        ],
    )
    def test_a_value_that_makes_no_sense_is_refused_with_its_place(
        self, resource: str, raw: bytes, why: str
    ) -> None:
        with pytest.raises(InterchangeError, match=why) as error:
            CODEC.decode(resource, "n/a", raw)
        assert str(error.value).startswith(f"{resource} n/a: ")

    def test_a_value_under_a_key_that_is_not_there_is_not_passed_over(self) -> None:
        with pytest.raises(Sealed, match="core/pods n/a is encrypted: start with --encryption"):
            CODEC.decode("core/pods", "n/a", b"k8s:enc:aescbc:v1:key1:xxx")

    @pytest.mark.parametrize(("resource", "kind"), [("core/pods", "Pod"), ("x.io/things", "Thing")])
    def test_an_object_put_there_by_hand_gets_what_every_object_has(
        self, resource: str, kind: str
    ) -> None:
        raw = b'{"apiVersion":"v1","kind":"%b","metadata":{"name":"a"}}' % kind.encode()
        metadata = decoded(resource, raw)[1]["metadata"]
        assert metadata == {"name": "a", "namespace": "n", "uid": "", "creationTimestamp": None}

    def test_a_message_that_is_cut_off_anywhere_is_refused_or_read(self) -> None:
        whole = SERVICE
        for size in range(len(whole)):
            try:
                CODEC.decode("core/services", "n/a", whole[:size])
            except InterchangeError:
                continue

    def test_deep_values_are_refused(self) -> None:
        deep = b'{"a":' * 800 + b"1" + b"}" * 800
        head = b'{"kind":"W","apiVersion":"v","metadata":{"name":"a"},"spec":'
        with pytest.raises(InterchangeError):
            CODEC.decode("example.com/widgets", "n/a", head + deep + b"}")


class TestSealed:
    KEYS = {"core/secrets": [named_key("aesgcm", "k", AesGcm(bytes(32)))]}

    def test_a_value_is_sealed_under_its_whole_key(self) -> None:
        sealed = EncryptedCodec(CODEC, Sealing(self.KEYS), "/registry")
        row = orjson.dumps({"metadata": META, "data": {"p": "c2VjcmV0"}})
        raw = sealed.encode("core/secrets", "n/a", "v1", row)
        assert raw.startswith(b"k8s:enc:aesgcm:v1:k:")
        opened = AesGcm(bytes(32)).open("/registry/secrets/n/a", raw[len("k8s:enc:aesgcm:v1:k:") :])
        assert opened == CODEC.encode("core/secrets", "n/a", "v1", row)
        assert sealed.decode("core/secrets", "n/a", raw)[0] == "v1"
        with pytest.raises(Sealed):
            sealed.decode("core/secrets", "n/b", raw)

    def test_rows_are_sealed_as_they_are(self) -> None:
        rows = EncryptedRows(CODEC, Sealing(self.KEYS))
        stored_row = rows.seal("core/secrets", "n/a", b"row")
        assert b"row" not in stored_row
        assert rows.unseal("core/secrets", "n/a", stored_row) == b"row"
        assert rows.seal("core/pods", "n/a", b"row") == b"row"
        with pytest.raises(StorageError, match="/registry/secrets/n/b: is encrypted"):
            rows.unseal("core/secrets", "n/b", stored_row)
