"""Custom resources in the documents."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from support.openapi import ask, resources

from fairlead.api.openapi import CustomSchema, OpenApi
from fairlead.api.openapi.custom import without_choices
from fairlead.api.openapi.names import Names
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.resources.registry import GroupVersion, Resource, Resources

NAME = "com.example.stable.v1.Widget"
INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size", "color"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "nullable": True, "default": "red"},
            },
        }
    },
}


class Widgets:
    """A server that serves one custom kind."""

    def __init__(self, schema: dict[str, Any] | None, release: Release = V1_25) -> None:
        self.resources: Resources = resources(release=release)
        self.openapi = OpenApi(self.resources)
        version = GroupVersion("stable.example.com", "stable.example.com", "v1")
        marks = {"namespaced": ""}
        widgets = Resource(
            self.resources.dialect, self.resources.types, version, "widgets", "Widget", marks, None
        )
        for name, kind in (("status", "Widget"), ("scale", "autoscaling/v1.Scale")):
            full = f"widgets/{name}"
            resource = Resource(
                self.resources.dialect, self.resources.types, version, full, kind, {}, widgets
            )
            widgets.subresources[name] = resource
        widgets.custom = cast(Any, self)  # whatever it is, the kind is not built in
        version.resources["widgets"] = widgets
        self.resources.groups["stable.example.com"] = {"v1": version}
        self.schema = CustomSchema("1", schema, "WidgetCollection")
        self.openapi.find_custom = lambda item: self.schema if item.name == "widgets" else None

    def get(self, path: str) -> Any:
        return asyncio.run(ask(self.openapi, self.resources, path)).json()

    @property
    def new(self) -> dict[str, Any]:
        value: dict[str, Any] = self.get("/openapi/v3/apis/stable.example.com/v1")
        return value

    @property
    def old(self) -> dict[str, Any]:
        value: dict[str, Any] = self.get("/openapi/v2")
        return value


def test_a_custom_kind_is_published_with_what_all_objects_have() -> None:
    kind = Widgets(SCHEMA).new["components"]["schemas"][NAME]
    assert kind["properties"]["spec"] == SCHEMA["properties"]["spec"]
    assert kind["properties"]["kind"]["type"] == "string"
    metadata = kind["properties"]["metadata"]  # a description beside a reference is ignored
    assert metadata["description"].startswith("Standard object's metadata")
    assert metadata["allOf"][0]["$ref"].endswith("meta.v1.ObjectMeta")
    group_version_kind = {"group": "stable.example.com", "kind": "Widget", "version": "v1"}
    assert kind["x-kubernetes-group-version-kind"] == [group_version_kind]


def test_what_all_objects_have_is_explained_in_words_that_clients_look_for() -> None:
    published = Widgets(SCHEMA).old["definitions"]
    fields = published[NAME]["properties"]
    assert fields["apiVersion"]["description"].startswith("APIVersion defines ")
    assert fields["metadata"]["description"].startswith("Standard object's metadata")
    metadata = published[fields["metadata"]["$ref"].removeprefix("#/definitions/")]
    created = metadata["properties"]["creationTimestamp"]
    assert created["description"].startswith("CreationTimestamp is a timestamp ")


def test_a_list_of_custom_objects_has_the_name_it_was_given() -> None:
    listed = Widgets(SCHEMA).new["components"]["schemas"]["com.example.stable.v1.WidgetCollection"]
    assert listed["properties"]["items"]["items"]["$ref"].endswith(NAME)
    assert listed["required"] == ["items"]


def test_paths_of_a_custom_kind() -> None:
    paths = Widgets(SCHEMA).new["paths"]
    item = "/apis/stable.example.com/v1/namespaces/{namespace}/widgets/{name}"
    patch = paths[item]["patch"]
    assert patch["operationId"] == "patchStableExampleComV1NamespacedWidget"
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert f"{item}/status" in paths
    scale = paths[f"{item}/scale"]["get"]["responses"]["200"]["content"]["application/json"]
    assert scale["schema"]["$ref"].endswith("autoscaling.v1.Scale")


def test_the_old_version_says_what_it_can() -> None:
    spec = Widgets(SCHEMA).old["definitions"][NAME]["properties"]["spec"]
    assert spec == {
        "type": "object",
        "required": ["size"],
        "properties": {"size": {"type": "integer", "minimum": 1}, "color": {}},
    }


@pytest.mark.parametrize("schema", [None, {"type": "object", PRESERVE: True}])
def test_clients_of_the_old_version_must_not_take_fields_for_unknown(
    schema: dict[str, Any] | None,
) -> None:
    kind = dict(Widgets(schema).old["definitions"][NAME])
    del kind["x-kubernetes-group-version-kind"]
    assert kind == {"type": "object"}


def test_another_schema_gets_another_document() -> None:
    widgets = Widgets(SCHEMA)
    assert "spec" in widgets.new["components"]["schemas"][NAME]["properties"]
    widgets.schema = CustomSchema("2", {"type": "object"}, "WidgetList")
    widgets.resources.touch()
    assert "spec" not in widgets.new["components"]["schemas"][NAME]["properties"]
    assert "spec" not in widgets.old["definitions"][NAME]["properties"]


def test_other_documents_stay_when_a_custom_kind_comes() -> None:
    plain = OpenApi(served := resources())
    before = asyncio.run(ask(plain, served, "/openapi/v3")).json()["paths"]
    after = Widgets(SCHEMA).get("/openapi/v3")["paths"]
    assert {name: after[name] for name in before} == before


def test_a_restart_does_not_make_a_custom_group_a_built_in_one() -> None:
    before = Widgets(SCHEMA)
    after = Widgets(SCHEMA)
    find_custom, after.openapi = after.openapi.find_custom, OpenApi(after.resources)
    after.openapi.find_custom = find_custom
    assert after.new == before.new


def test_objects_within_objects_have_metadata_too() -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True}
    kind = Widgets({"type": "object", "properties": {"template": inner}}).new
    template = kind["components"]["schemas"][NAME]["properties"]["template"]
    assert set(template["properties"]) == {"apiVersion", "kind", "metadata"}
    assert template["required"] == ["apiVersion", "kind"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "anyOf": [{}], "default": "x"}, {"type": "string"}),
        ({"type": "string", "nullable": True}, {}),
        ({"type": "array", "nullable": True, "items": {"type": "string"}}, {}),
        ({"type": "array", PRESERVE: True, "items": {}}, {PRESERVE: True}),
        ({"type": "object", PRESERVE: True, "properties": {"a": {}}}, {PRESERVE: True}),
        (
            {"type": "object", "additionalProperties": {"not": {}, "type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"type": "array", "items": {"oneOf": []}}, {"type": "array", "items": {}}),
        (
            {"properties": {"a": {"nullable": True}}, "required": ["a"]},
            {"properties": {"a": {}}},
        ),
    ],
)
def test_what_the_old_version_cannot_say_is_left_open(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert without_choices(Names(KUBERNETES), schema) == expected


# Release 1.36 describes custom resources apart from all others.

ITEM = "/apis/stable.example.com/v1/namespaces/{namespace}/widgets/{name}"


@pytest.fixture(scope="module")
def later() -> Widgets:
    properties = {
        "port": {"x-kubernetes-int-or-string": True},
        "limited": {"x-kubernetes-int-or-string": True, "anyOf": [{"minimum": 3}]},
        "known": {"x-kubernetes-int-or-string": True, "anyOf": INTEGER_OR_STRING},
        "inner": {
            "type": "object",
            "required": ["spec"],
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "string"}},
        },
    }
    return Widgets({"type": "object", "properties": properties}, V1_36)


def test_a_later_document_of_a_custom_group_has_nothing_of_discovery(later: Widgets) -> None:
    index = later.get("/openapi/v3")["paths"]
    assert [name for name in index if "stable" in name] == ["apis/stable.example.com/v1"]
    assert index.keys() >= {"apis/apps", "apis/apps/v1"}
    paths = {*later.new["paths"], *later.old["paths"]}
    about = "/apis/stable.example.com/"
    assert not paths & {about, f"{about}v1/", f"{about}v1/watch/widgets"}
    assert "/apis/apps/v1/watch/deployments" in paths
    assert list(later.new["components"]) == ["schemas"]
    assert not [name for name in later.new["components"]["schemas"] if "APIResource" in name]


def test_later_operations_on_custom_objects(later: Widgets) -> None:
    document = later.new
    item, scale = document["paths"][ITEM], document["paths"][f"{ITEM}/scale"]
    assert list(item["put"]["requestBody"]["content"]) == ["application/json", "application/yaml"]
    read = item["get"]["responses"]["200"]["content"]
    assert list(read) == ["application/json", "application/yaml"]
    assert [parameter["name"] for parameter in item["get"]["parameters"]] == ["resourceVersion"]
    assert list(item["patch"]["responses"]) == ["200", "401"]
    collection = document["paths"][ITEM.removesuffix("/{name}")]
    assert collection["delete"]["parameters"] == collection["get"]["parameters"]
    assert "requestBody" not in collection["delete"]
    kind = {"group": "stable.example.com", "kind": "Widget", "version": "v1"}
    assert scale["get"]["x-kubernetes-group-version-kind"] == kind
    options = document["components"]["schemas"][
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    ]
    groups = {kind["group"] for kind in options["x-kubernetes-group-version-kind"]}
    assert {"", "apps"} <= groups
    assert not groups & {"admission.k8s.io", "stable.example.com"}


def test_later_schemas_of_custom_objects(later: Widgets) -> None:
    fields = later.new["components"]["schemas"][NAME]["properties"]
    assert fields["port"]["anyOf"] == INTEGER_OR_STRING
    assert fields["limited"]["allOf"] == [{"anyOf": INTEGER_OR_STRING}]
    assert "allOf" not in fields["known"]
    assert fields["inner"]["required"] == ["spec", "kind", "apiVersion"]
    assert "anyOf" not in later.old["definitions"][NAME]["properties"]["port"]
