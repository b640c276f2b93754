"""Decoding is canonical and idempotent for any object of any type; wrong types have known
messages."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from support.generating import objects_of

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder, unknown_paths
from fairlead.codec.types.mismatch import DecodeError, Number
from fairlead.codec.types.model import Presence

TYPES = BuiltinTypes(KUBERNETES)
KINDS = (
    "core/v1.ConfigMap", "core/v1.Pod", "core/v1.Service", "core/v1.Node", "core/v1.Secret",
    "core/v1.PersistentVolume", "core/v1.Event", "apps/v1.Deployment", "apps/v1.StatefulSet",
    "batch/v1.CronJob", "autoscaling/v2.HorizontalPodAutoscaler", "networking/v1.Ingress",
    "rbac/v1.ClusterRole", "apiextensions/v1.CustomResourceDefinition", "coordination/v1.Lease",
    "flowcontrol/v1beta2.FlowSchema", "storage/v1.CSIStorageCapacity", "meta/v1.ObjectMeta",
    "admissionregistration/v1.MutatingWebhookConfiguration", "policy/v1.PodDisruptionBudget",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_is_canonical_and_idempotent(kind: str) -> None:
    struct = TYPES.struct(kind)
    decode = decoder(struct)

    @settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(objects_of(struct, 5))
    def check(value: dict[str, Any]) -> None:
        unknown: list[str] = []
        once = decode(deepcopy(value), unknown)
        assert unknown == []
        assert decode(deepcopy(once), unknown) == once
        assert unknown == []
        orjson.dumps(once)

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_null_is_the_same_as_nothing(kind: str) -> None:
    struct = TYPES.struct(kind)
    nulls = dict.fromkeys(struct.fields)
    assert decoder(struct)(nulls, []) == decoder(struct)({}, [])


def test_zero_values_are_kept_or_left_out_as_the_type_says() -> None:
    struct = TYPES.struct("core/v1.ContainerPort")
    value = {"name": "", "hostPort": 0, "containerPort": 0, "protocol": ""}
    decoded = decoder(struct)(value, [])
    assert decoded == {"containerPort": 0}
    assert struct.fields["containerPort"].presence is Presence.ALWAYS


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (
            "core/v1.ConfigMap",
            {"data": {"k": 5}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            "core/v1.ConfigMap",
            {"data": ["x"]},
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type"
            " map[string]string",
        ),
        (
            "core/v1.ConfigMap",
            {"immutable": "yes"},
            "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
        ),
        (
            "core/v1.ConfigMap",
            {"metadata": "a"},
            "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type"
            " v1.ObjectMeta",
        ),
        (
            "core/v1.ConfigMap",
            {"metadata": {"labels": {"a": True}}},
            "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type"
            " string",
        ),
        (
            "core/v1.ConfigMap",
            {"binaryData": {"k": "***"}},
            "illegal base64 data at input byte 0",
        ),
        (
            "apps/v1.Deployment",
            {"spec": {"replicas": "3"}},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of"
            " type int32",
        ),
        (
            "apps/v1.Deployment",
            {"spec": {"replicas": Number("1.5")}},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas"
            " of type int32",
        ),
        (
            "apps/v1.Deployment",
            {"spec": {"replicas": 2147483648}},
            "json: cannot unmarshal number 2147483648 into Go struct field"
            " DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "core/v1.Pod",
            {"spec": {"terminationGracePeriodSeconds": Number("99999999999999999999")}},
            "json: cannot unmarshal number 99999999999999999999 into Go struct field"
            " PodSpec.spec.terminationGracePeriodSeconds of type int64",
        ),
        (
            "core/v1.Pod",
            {"spec": {"containers": {"name": "c"}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type"
            " []v1.Container",
        ),
        (
            "core/v1.Pod",
            {"spec": {"containers": [5]}},
            "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type"
            " v1.Container",
        ),
        (
            "core/v1.Pod",
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "lots"}}}]}},
            "quantities must match the regular expression"
            " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "core/v1.Service",
            {"spec": {"ports": [{"port": True}]}},
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.port of type"
            " int32",
        ),
        (
            "core/v1.Pod",
            {"metadata": {"creationTimestamp": "soon"}},
            'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
        ),
    ],
)
def test_a_wrong_type_is_told_in_the_references_words(
    kind: str, value: dict[str, Any], message: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decoder(TYPES.struct(kind))(value, [])
    assert str(caught.value) == message


def bytes_kept(text: str) -> str:
    decoded = decoder(TYPES.struct("core/v1.ConfigMap"))({"binaryData": {"k": text}}, [])
    return str(decoded["binaryData"]["k"])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("QQ==", "QQ=="),
        ("QUFB\nQUFB\n", "QUFBQUFB"),
        ("QU\r\nFB\r\nQQ=\n=\n", "QUFBQQ=="),
        ("QR==", "QQ=="),
    ],
)
def test_base64_is_kept_without_line_breaks(text: str, kept: str) -> None:
    assert bytes_kept(text) == kept


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("***", 0),
        ("QQ", 0),
        ("QUFBQQ", 4),
        ("QUFB*", 4),
        ("QQ=", 3),
        ("QQ==x", 4),
        ("QQ=Q", 3),
        ("Q===", 1),
        ("=QQQ", 0),
        ("QQ-_", 2),
        ("QQ QQ", 2),
    ],
)
def test_base64_that_cannot_be_read_names_the_place(text: str, position: int) -> None:
    with pytest.raises(DecodeError) as caught:
        bytes_kept(text)
    assert str(caught.value) == f"illegal base64 data at input byte {position}"


@pytest.mark.parametrize("kind", ["core/v1.Pod", "coordination/v1.Lease"])
def test_an_empty_time_is_no_time(kind: str) -> None:
    value = {"metadata": {"deletionTimestamp": ""}}
    with pytest.raises(DecodeError) as caught:
        decoder(TYPES.struct(kind))(value, [])
    assert str(caught.value) == (
        'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'
    )


@pytest.mark.parametrize("value", [5, "x", [], True])
def test_an_object_must_be_an_object(value: object) -> None:
    with pytest.raises(DecodeError, match=r"of type v1\.ConfigMap"):
        decoder(TYPES.struct("core/v1.ConfigMap"))(value, [])


def test_unknown_fields_are_dropped_and_named_by_their_paths() -> None:
    value = {
        "spec": {
            "containers": [{"name": "a"}, {"name": "b", "nope": 1, "env": [{"neither": 2}]}],
            "extra": {"x": 1},
        },
        "metadata": {"labels": {"any": "key"}, "odd": None},
        "bonus": True,
    }
    struct = TYPES.struct("core/v1.Pod")
    unknown: list[str] = []
    decoded = decoder(struct)(value, unknown)
    assert len(unknown) == 5
    assert sorted(unknown_paths(struct, value)) == [
        "bonus",
        "metadata.odd",
        "spec.containers[1].env[0].neither",
        "spec.containers[1].nope",
        "spec.extra",
    ]
    assert "nope" not in decoded["spec"]["containers"][1]
    assert decoded["metadata"]["labels"] == {"any": "key"}


def test_unknown_fields_inside_maps_are_named_by_their_keys() -> None:
    schema = {"properties": {"spec": {"type": "object", "nope": 1}}}
    struct = TYPES.struct("apiextensions/v1.JSONSchemaProps")
    assert unknown_paths(struct, schema) == ["properties.spec.nope"]


@pytest.mark.parametrize("value", ["http", 80, "50%", "", 0, -1])
def test_an_int_or_string_is_kept_as_it_is(value: int | str) -> None:
    struct = TYPES.struct("core/v1.ServicePort")
    assert decoder(struct)({"targetPort": value}, [])["targetPort"] == value


@pytest.mark.parametrize("value", [1.5, True, [], {}, 2**31])
def test_an_int_or_string_is_nothing_else(value: object) -> None:
    with pytest.raises(DecodeError):
        decoder(TYPES.struct("core/v1.ServicePort"))({"targetPort": value}, [])


@pytest.mark.parametrize(
    ("value", "kept"), [("0.5", "500m"), (1, "1"), (1.5, "1500m"), ("1024Ki", "1Mi")]
)
def test_a_quantity_is_canonical_and_may_be_a_number(value: object, kept: str) -> None:
    struct = TYPES.struct("core/v1.ResourceRequirements")
    decoded = decoder(struct)({"limits": {"cpu": value}}, [])
    assert decoded["limits"] == {"cpu": kept}


def test_null_elements_become_zeros() -> None:
    struct = TYPES.struct("core/v1.ConfigMap")
    assert decoder(struct)({"data": {"k": None}}, [])["data"] == {"k": ""}
    pod = decoder(TYPES.struct("core/v1.PodSpec"))({"containers": [None]}, [])
    assert pod["containers"] == [{"name": "", "resources": {}}]


def test_free_form_values_are_kept_whole() -> None:
    struct = TYPES.struct("apps/v1.ControllerRevision")
    data = {"any": [{"thing": None}, 1.5, "x"]}
    assert decoder(struct)({"data": deepcopy(data)}, [])["data"] == data


def test_what_is_decoded_shares_nothing_between_objects() -> None:
    struct = TYPES.struct("core/v1.Pod")
    first, second = decoder(struct)({}, []), decoder(struct)({}, [])
    first["metadata"]["name"] = "a"
    assert "name" not in second["metadata"]


def test_a_decoded_object_survives_json() -> None:
    struct = TYPES.struct("core/v1.Pod")
    value = {"spec": {"containers": [{"name": "c", "image": "i"}]}, "metadata": {"name": "é☃"}}
    decoded = decoder(struct)(value, [])
    assert json.loads(orjson.dumps(decoded)) == decoded


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (
            "core/v1.Pod",
            {"spec": {"volumes": [{"name": "v", "secret": {"secretName": 5}}]}},
            "SecretVolumeSource.spec.volumes.VolumeSource.secret.secretName",
        ),
        (
            "apiextensions/v1.CustomResourceDefinitionVersion",
            {"schema": {"openAPIV3Schema": {"items": {"items": {"title": 5}}}}},
            "JSONSchemaProps.schema.openAPIV3Schema.items.items.title",
        ),
    ],
)
def test_the_whole_path_names_embedded_structs_and_leads_through_alternatives(
    kind: str, value: dict[str, Any], path: str
) -> None:
    with pytest.raises(DecodeError) as error:
        decoder(TYPES.struct(kind))(value, [])
    place = f"Go struct field {path} of type string"
    assert error.value.with_whole_path == f"json: cannot unmarshal number into {place}"
    assert str(error.value) != error.value.with_whole_path
