"""Schemas of OpenAPI 2 and 3 match the type tables."""

from __future__ import annotations

from typing import Any

import pytest
from support.openapi import references, resources, swagger, version, without_texts

from fairlead.api.openapi.tables import blocks
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Presence

CORE = "io.k8s.api.core.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
OLD, NEW = "#/definitions/", "#/components/schemas/"


def old(name: str) -> dict[str, Any]:
    value: dict[str, Any] = without_texts(swagger()["definitions"][name])
    return value


def new(name: str, group: str = "", release: str = "v1") -> dict[str, Any]:
    schemas = version(group, release)["components"]["schemas"]
    value: dict[str, Any] = without_texts(schemas[name])
    return value


@pytest.mark.parametrize(
    ("kind", "field", "schema"),
    [
        ("ConfigMap", "immutable", {"type": "boolean"}),
        ("ConfigMap", "data", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("ContainerPort", "hostPort", {"type": "integer", "format": "int32"}),
        ("SecurityContext", "runAsUser", {"type": "integer", "format": "int64"}),
        ("Container", "args", {"type": "array", "items": {"type": "string"}}),
        ("Container", "resources", {"$ref": f"{OLD}{CORE}ResourceRequirements"}),
        ("ServicePort", "targetPort", {"$ref": OLD + INT_OR_STRING}),
        ("PodStatus", "startTime", {"$ref": f"{OLD}{META}Time"}),
        ("EmptyDirVolumeSource", "sizeLimit", {"$ref": OLD + QUANTITY}),
    ],
)
def test_fields_have_the_types_of_the_tables(kind: str, field: str, schema: object) -> None:
    assert old(CORE + kind)["properties"][field] == schema


def test_byte_strings_say_so() -> None:
    data = old(f"{CORE}Secret")["properties"]["data"]
    assert data["additionalProperties"] == {"type": "string", "format": "byte"}


def test_scalars_of_two_types_are_strings_in_the_old_version() -> None:
    assert old(INT_OR_STRING) == {"type": "string", "format": "int-or-string"}
    assert old(QUANTITY) == {"type": "string"}


def test_scalars_of_two_types_are_a_choice_in_the_new_version() -> None:
    choice = [{"type": "integer"}, {"type": "string"}]
    assert new(INT_OR_STRING) == {"format": "int-or-string", "oneOf": choice}
    assert new(QUANTITY) == {"oneOf": [{"type": "string"}, {"type": "number"}]}


def test_lists_tell_how_they_merge() -> None:
    ports = new(f"{CORE}Container")["properties"]["ports"]
    assert ports == {
        "type": "array",
        "items": {"$ref": f"{NEW}{CORE}ContainerPort"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "containerPort",
    }


def test_nothing_stands_beside_a_reference_in_the_new_version() -> None:
    name = "io.k8s.api.apps.v1.DeploymentSpec"
    reference = "io.k8s.api.apps.v1.DeploymentStrategy"
    strategy = {"x-kubernetes-patch-strategy": "retainKeys"}
    written = new(name, "apps")["properties"]["strategy"]
    assert written == {"allOf": [{"$ref": NEW + reference}], **strategy}
    assert old(name)["properties"]["strategy"] == {"$ref": OLD + reference, **strategy}


def test_defaults_and_enumerations_are_told() -> None:
    protocol = new(f"{CORE}ContainerPort")["properties"]["protocol"]
    assert protocol == {"type": "string", "enum": ["SCTP", "TCP", "UDP"], "default": "TCP"}
    assert "default" not in old(f"{CORE}ContainerPort")["properties"]["protocol"]


def test_atomic_structs_and_maps_are_marked() -> None:
    assert old(f"{META}LabelSelector")["x-kubernetes-map-type"] == "atomic"
    selector = old(f"{CORE}ServiceSpec")["properties"]["selector"]
    assert selector["x-kubernetes-map-type"] == "atomic"
    claim = old(f"{CORE}PersistentVolumeSpec")["properties"]["claimRef"]
    assert claim["x-kubernetes-map-type"] == "granular"


@pytest.mark.parametrize(
    ("name", "required"),
    [
        (f"{CORE}ContainerPort", ["containerPort"]),
        ("io.k8s.api.apps.v1.DeploymentSpec", ["selector", "template"]),
        ("io.k8s.api.rbac.v1.ClusterRole", None),
        ("io.k8s.api.rbac.v1.RoleRef", ["apiGroup", "kind", "name"]),
        (f"{CORE}ConfigMapList", ["items"]),
    ],
)
def test_required_fields(name: str, required: object) -> None:
    assert old(name).get("required") == required


@pytest.mark.parametrize("release", [V1_25, V1_36], ids=lambda release: str(release.name))
def test_the_table_of_exceptions_speaks_of_fields_there_are(release: Release) -> None:
    types = BuiltinTypes(KUBERNETES, release)
    for header, rows in blocks(release, "required.table").items():
        for name, *fields in rows:
            for field in fields:
                presence = types.struct(name).fields[field].presence
                assert (presence is Presence.ALWAYS) == (header == "optional"), (name, field)


def test_kinds_name_their_group_and_version() -> None:
    kind = {"group": "apps", "kind": "Deployment", "version": "v1"}
    assert old("io.k8s.api.apps.v1.Deployment")["x-kubernetes-group-version-kind"] == [kind]
    assert "x-kubernetes-group-version-kind" not in old(f"{CORE}ObjectReference")


def test_options_of_a_delete_belong_to_all_groups() -> None:
    kinds = old(f"{META}DeleteOptions")["x-kubernetes-group-version-kind"]
    groups = {(kind["group"], kind["version"]) for kind in kinds}
    assert {("", "v1"), ("apps", "v1"), ("autoscaling", "v2beta2")} < groups


def test_a_version_that_takes_over_types_has_schemas_of_its_own() -> None:
    later = new(
        "io.k8s.api.flowcontrol.v1beta1.FlowSchema", "flowcontrol.apiserver.k8s.io", "v1beta1"
    )
    assert later["properties"]["spec"] == {
        "$ref": f"{NEW}io.k8s.api.flowcontrol.v1beta1.FlowSchemaSpec"
    }
    assert later["x-kubernetes-group-version-kind"][0]["version"] == "v1beta1"


def test_types_may_hold_themselves() -> None:
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert old(name)["properties"]["not"] == {"$ref": OLD + name}


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_every_reference_leads_somewhere(dialect: str) -> None:
    document = swagger(dialect)
    assert references(document) == {OLD + name for name in document["definitions"]}
    for group, versions in resources(dialect).groups.items():
        for name in versions:
            api_version = version(group, name, dialect)
            assert references(api_version) == {
                NEW + known for known in api_version["components"]["schemas"]
            }


@pytest.mark.parametrize(
    ("dialect", "absent"),
    [("cluster", ("k8s", "kube")), ("kubernetes", ("io.cluster", "x-cluster"))],
)
def test_names_are_those_of_the_dialect(dialect: str, absent: tuple[str, ...]) -> None:
    document = swagger(dialect)
    names = [*document["definitions"], *document["paths"], document["info"]["title"]]
    keys = {key for schema in document["definitions"].values() for key in schema}
    assert not [n for n in (*names, *keys) if any(word in n for word in absent)]


def test_names_of_the_cluster_dialect() -> None:
    names = swagger("cluster")["definitions"]
    assert "io.cluster.api.core.v1.Pod" in names
    assert "io.cluster.cluster-aggregator.pkg.apis.apiregistration.v1.APIService" in names
    assert "x-cluster-group-version-kind" in names["io.cluster.api.core.v1.Pod"]


def test_types_and_fields_have_descriptions_in_both_versions() -> None:
    for schemas in (swagger()["definitions"], version("", "v1")["components"]["schemas"]):
        container = schemas[f"{CORE}Container"]
        assert container["description"].startswith("A process")
        for name, field in container["properties"].items():
            assert field["description"], name
        assert schemas[f"{CORE}PodList"]["description"] == "A list of Pod objects."


def test_a_description_stands_beside_a_reference_only_in_the_old_version() -> None:
    old_field = swagger()["definitions"][f"{CORE}Pod"]["properties"]["spec"]
    assert set(old_field) == {"$ref", "description"}
    new_field = version("", "v1")["components"]["schemas"][f"{CORE}Pod"]["properties"]["spec"]
    assert set(new_field) == {"allOf", "description"}
