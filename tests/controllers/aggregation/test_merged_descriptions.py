"""OpenAPI 2 of extension servers: which parts are taken, and how they are merged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.descriptions import (
    GADGET,
    GROUP,
    KIND_MARK,
    META,
    Value,
    gadget,
    gadgets,
    getting,
    kind,
    link,
    swagger,
)

from fairlead.controllers.aggregation.openapi.conversion import converted
from fairlead.controllers.aggregation.openapi.document import Part, part_of, read_description
from fairlead.controllers.aggregation.openapi.json_slices import (
    MAX_DEPTH,
    MAX_PARSED,
    MAX_PIECE_BYTES,
    MAX_PIECES,
    Unreadable,
)
from fairlead.controllers.aggregation.openapi.merge import merged

BASE = f"/apis/{GROUP}/v1"
OURS = swagger(
    {"/api/v1/pods": getting(link(META))},
    {META: {"type": "object", KIND_MARK: [kind("ObjectMeta", "")]}},
)


def part(document: Value, group: str = GROUP) -> Part:
    return part_of(
        read_description(json.dumps(document).encode(), group, "v1"), group, "v1", KIND_MARK
    )


def together(*documents: Value) -> Value:
    """Ours with those of extension servers, of the groups a.example.com and so on."""
    parts = [
        part(item, f"{letter}.example.com") for letter, item in zip("abc", documents, strict=False)
    ]
    return merged(OURS, parts, KIND_MARK)


def of(letter: str, **message: Any) -> Value:
    return gadgets(f"{letter}.example.com", **message)


def refused(document: Value | bytes) -> str:
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(Unreadable) as caught:
        read_description(raw, GROUP, "v1")
    return str(caught.value)


def test_only_the_paths_of_the_registered_version_are_taken() -> None:
    others = ("/api/v1/pods", "/apis/apps/v1/deployments", f"/apis/{GROUP}/v10/x", "/version/")
    document = gadgets()
    document["paths"] |= {path: getting({"type": "object"}) for path in (*others, BASE)}
    assert set(part(document).paths) == {BASE, f"{BASE}/", f"{BASE}/gadgets"}


def test_only_the_definitions_that_these_lead_to_are_taken() -> None:
    document = gadgets()
    document["definitions"] |= {"unused": link("also-unused"), "also-unused": {}}
    assert set(part(document).definitions) == {GADGET, META}


def test_definitions_may_lead_to_each_other_in_a_circle() -> None:
    document = of("a", meta={"properties": {"owner": link(GADGET), "self": link(META)}})
    assert set(together(document)["definitions"]) >= {GADGET, META}


def test_the_parameters_that_a_document_shares_are_put_where_they_are_meant() -> None:
    limit = {"in": "query", "name": "limit", "type": "integer"}
    path = getting(link(GADGET), parameters=[{"$ref": "#/parameters/limit-x"}])
    document = swagger(
        {f"{BASE}/gadgets": path}, gadgets()["definitions"], parameters={"limit-x": limit}
    )
    taken = json.loads(part(document).paths[f"{BASE}/gadgets"])
    assert taken["get"]["parameters"] == [limit]


def test_defaults_are_left_out_but_not_properties_of_that_name() -> None:
    document = gadgets(default={"type": "string", "default": "x"})
    properties = json.loads(part(document).definitions[GADGET])["properties"]
    assert properties["default"] == {"type": "string"}
    assert properties["size"] == {"type": "integer"}


def test_merged_openapi_takes_no_kinds_of_other_groups() -> None:
    document = gadgets()
    document["definitions"][GADGET][KIND_MARK] += [kind("Pod", ""), kind("Gadget", GROUP, "v2")]
    document["definitions"][META][KIND_MARK] = [kind("Pod", "")]
    taken = part(document).definitions
    assert json.loads(taken[GADGET])[KIND_MARK] == [kind("Gadget")]
    assert KIND_MARK not in json.loads(taken[META])


def test_merged_openapi_has_equal_definitions_once() -> None:
    value = together(of("a"))
    assert set(value["definitions"]) == {GADGET, META}
    assert value["definitions"][META] == OURS["definitions"][META]
    assert {"/api/v1/pods", "/apis/a.example.com/v1/gadgets"} < set(value["paths"])


def test_the_kinds_of_a_shared_definition_are_told_together() -> None:
    document = of("a")
    own = kind("ObjectMeta", "a.example.com")
    document["definitions"][META][KIND_MARK] = [own]
    assert together(document)["definitions"][META][KIND_MARK] == [kind("ObjectMeta", ""), own]
    assert OURS["definitions"][META][KIND_MARK] == [kind("ObjectMeta", "")]


def test_a_definition_that_differs_from_ours_gets_another_name() -> None:
    value = together(of("a", meta={"type": "string"}))
    assert value["definitions"][META] == OURS["definitions"][META]
    assert value["definitions"][f"{META}_v2"] == {"type": "string"}
    assert value["definitions"][GADGET]["properties"]["metadata"] == link(f"{META}_v2")
    assert value["paths"]["/api/v1/pods"] == OURS["paths"]["/api/v1/pods"]


def test_merged_openapi_paths_refer_to_the_new_name() -> None:
    value = together(of("a"), of("b", color={"type": "string"}))
    assert value["definitions"][f"{GADGET}_v2"]["properties"]["color"] == {"type": "string"}
    answer = value["paths"]["/apis/b.example.com/v1/gadgets"]["get"]["responses"]["200"]
    assert answer["schema"] == link(f"{GADGET}_v2")


def test_servers_that_differ_from_ours_alike_share_the_new_name() -> None:
    older = {"type": "object", "properties": {"owner": link("io.Owner")}}
    first, second = of("a", meta=older), of("b", meta=older)
    for document in (first, second):
        document["definitions"]["io.Owner"] = {"type": "string"}
    value = together(first, second)
    assert f"{META}_v3" not in value["definitions"]
    assert f"{GADGET}_v2" not in value["definitions"]


def test_merged_openapi_skips_a_new_name_that_is_in_use() -> None:
    document = of("a", meta={"type": "string"}, more=link(f"{META}_v2"))
    document["definitions"][f"{META}_v2"] = {"type": "boolean"}
    definitions = together(document)["definitions"]
    assert (definitions[f"{META}_v2"], definitions[f"{META}_v3"]) == (
        {"type": "boolean"},
        {"type": "string"},
    )
    assert definitions[GADGET]["properties"]["metadata"] == link(f"{META}_v3")
    assert definitions[GADGET]["properties"]["more"] == link(f"{META}_v2")


def test_merged_openapi_path_stays_with_the_first_server() -> None:
    taken = part(gadgets())
    ours = {**OURS, "paths": {f"{BASE}/gadgets": {"get": {}}}}
    assert merged(ours, [taken], KIND_MARK)["paths"][f"{BASE}/gadgets"] == {"get": {}}


def test_openapi_definition_with_a_slash_in_its_name_is_found() -> None:
    document = gadgets(odd=link("a~1b~0c"))
    document["definitions"]["a/b~c"] = {"type": "string"}
    assert "a/b~c" in part(document).definitions


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"[]",
        b"5",
        b'{"swagger": "2.0"',
        b'{"swagger": "2.0"}}',
        b"\xff\xfe{}",
        b'"',
    ],
)
def test_openapi_document_that_is_none_is_refused(raw: bytes) -> None:
    assert refused(raw)


def test_a_document_of_another_version_is_refused() -> None:
    assert refused({"openapi": "3.0.0"}) == "it is not a document of OpenAPI 2"


def deep(levels: int) -> Value:
    value: Value = {"type": "object"}
    for _ in range(levels):
        value = {"properties": {"x": value}}
    return value


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        (5, "not an object"),
        ({"type": "gadget"}, "a type that there is not"),
        ({"type": {"x": 1}}, "a type that there is not"),
        ({"type": 5}, "a type that there is not"),
        ({"properties": []}, "not an object"),
        ({"items": 5}, "not an object"),
        ({"allOf": {}}, "not a list"),
        ({"description": 5}, "what no document of OpenAPI 2 has"),
        ({"maxLength": "x"}, "what no document of OpenAPI 2 has"),
        ({"required": 5}, "what no document of OpenAPI 2 has"),
        (link("missing"), "a definition that is not there"),
        ({"$ref": "https://example.com/x"}, "leads to no definition"),
        ({"description": "x" * MAX_PIECE_BYTES}, f"longer than {MAX_PIECE_BYTES} bytes"),
    ],
)
def test_openapi_document_that_clients_could_not_read_is_refused(definition: Any, why: str) -> None:
    assert why in refused(
        gadgets(x=link("x"))
        | {"definitions": {**gadgets(x=link("x"))["definitions"], "x": definition}}
    )


def test_a_document_that_is_nested_too_deep_is_refused() -> None:
    assert f"deeper than {MAX_DEPTH} levels" in refused(gadgets(x=deep(MAX_DEPTH)))


def test_a_document_of_too_many_parts_is_refused() -> None:
    assert f"more than {MAX_PIECES} parts" in refused(
        swagger({}, {str(n): {} for n in range(MAX_PIECES + 1)})
    )


def test_a_document_that_says_too_much_is_refused() -> None:
    shared = {"x": {"in": "query", "name": "x", "type": "string", "description": "x" * 900_000}}
    listed = [{"$ref": "#/parameters/x"}] * 10
    document = swagger({BASE: getting({}, parameters=listed)}, {}, parameters=shared)
    assert f"needed part of it is longer than {MAX_PARSED} bytes" in refused(document)


def test_no_part_of_a_document_is_read_twice_however_it_is_written() -> None:
    """Each takes minutes otherwise."""
    for raw in (b'{"a":"' + b'\\"' * 500_000, b'"\\' * 500_000, b"[" * 1_000_000):
        assert refused(raw)


def test_merged_openapi_ignores_parts_that_nothing_refers_to() -> None:
    document = gadgets() | {"definitions": {**gadgets()["definitions"], "unused": 5}}
    assert set(part(document).definitions) == {GADGET, META}


def test_a_description_becomes_one_of_version_3() -> None:
    body = {"in": "body", "name": "body", "required": True, "schema": link(GADGET)}
    limit = {"in": "query", "name": "limit", "description": "At most.", "type": "integer"}
    path = getting(link(GADGET), parameters=[body, limit], produces=["application/json"])
    path["get"] |= {"consumes": ["application/yaml"], KIND_MARK: kind("Gadget")}
    path["parameters"] = [{"in": "path", "name": "name", "required": True, "type": "string"}]
    document = swagger({f"{BASE}/gadgets": path}, {GADGET: gadget(), META: {"type": "object"}})
    schema = converted(read_description(json.dumps(document).encode(), GROUP, "v1"))
    value = {"schema": {"$ref": f"#/components/schemas/{GADGET}"}}
    assert schema["openapi"] == "3.0.0"
    assert schema["info"] == {"title": "Extension", "version": "v1"}
    assert schema["paths"] == {
        f"{BASE}/gadgets": {
            "get": {
                "operationId": "read",
                KIND_MARK: kind("Gadget"),
                "parameters": [
                    {
                        "in": "query",
                        "name": "limit",
                        "description": "At most.",
                        "schema": {"type": "integer"},
                    }
                ],
                "requestBody": {"required": True, "content": {"application/yaml": value}},
                "responses": {"200": {"description": "OK", "content": {"application/json": value}}},
            },
            "parameters": [
                {"in": "path", "name": "name", "required": True, "schema": {"type": "string"}}
            ],
        }
    }
    assert schema["components"]["schemas"][GADGET]["properties"] == {
        "metadata": {"$ref": f"#/components/schemas/{META}"},
        "size": {"type": "integer", "default": 3},
    }
