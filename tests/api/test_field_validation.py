"""`fieldValidation`: unknown and repeated fields."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space

UNKNOWN_JSON = '{"metadata": {"name": "a"}, "data": {"k": "v"}, "extra": 1, "other": {"x": 2}}'
REPEATED_JSON = '{"metadata": {"name": "a"}, "data": {"k": "v", "k": "w"}}'
REPEATED_YAML = "metadata:\n  name: a\ndata:\n  k: v\n  k: w\n"


@pytest.mark.parametrize("query", [{}, {"fieldValidation": "Warn"}, {"fieldValidation": ""}])
def test_unknown_fields_are_dropped_with_a_warning_each(
    space: Space, query: dict[str, Any]
) -> None:
    answer = space.client.post(space.config_maps.path, UNKNOWN_JSON, **query)
    assert answer.status == 201
    assert "extra" not in answer.body
    assert answer.warnings == [
        '299 - "unknown field \\"extra\\""',
        '299 - "unknown field \\"other\\""',
    ]


def test_unknown_fields_are_dropped_silently_when_ignored(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, UNKNOWN_JSON, fieldValidation="Ignore")
    assert (answer.status, answer.warnings) == (201, [])
    assert "extra" not in answer.body


def test_unknown_fields_are_refused_when_strict_and_all_are_named(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, UNKNOWN_JSON, fieldValidation="Strict")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error:'
        ' unknown field "extra", unknown field "other"'
    )
    assert space.config_maps.get("a").status == 404


def test_repeated_fields_warn_and_the_last_one_counts(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, REPEATED_JSON)
    assert (answer.status, answer.body["data"]) == (201, {"k": "w"})
    assert answer.warnings == ['299 - "duplicate field \\"data.k\\""']


def test_repeated_fields_are_refused_when_strict(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, REPEATED_JSON, fieldValidation="Strict")
    assert answer.status == 400
    assert 'strict decoding error: duplicate field "data.k"' in answer.message


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ('"data": {"k": ":v", "l" : "v", "k" :"w"}', ["data.k"]),
        ('"data": {"k": "a \\"k\\": b", "k": "w"}', ["data.k"]),
        ('"data": {"k": "a", "\\u006b": "w"}', ["data.k"]),
        ('"kind": "ConfigMap", "kind": "ConfigMap", "data": null', ["kind"]),
        ('"apiVersion": null, "data": {"k": "\\"", "l": "\\u003a"}', []),
        ('"immutable": false, "data": {"k": "", "": ":"}, "binaryData": {"b": "AA=="}', []),
        ('"extra": {"a": [{"b": 1}, {"b": 1, "b": 2}]}', []),
        ('"metadata": {"name": "b", "labels": {"x": "y"}, "labels": {"x": "z"}}', ["metadata"]),
    ],
)
def test_repeated_fields_are_found_however_they_are_written(
    space: Space, text: str, repeated: list[str]
) -> None:
    body = f'{{"metadata": {{"name": "a"}}, {text}}}'
    answer = space.client.post(space.config_maps.path, body, dryRun="All")
    reported = [text for text in answer.warnings if "duplicate field" in text]
    assert len(reported) >= len(repeated)
    assert bool(reported) == bool(repeated)
    for path in repeated:
        assert any(f'duplicate field \\"{path}' in warning for warning in reported)


def test_what_is_wrong_is_told_in_the_order_of_the_document(space: Space) -> None:
    body = (
        '{"metadata": {"name": "a", "name": "a", "nope": 1, "nope": 2}, "subsets": [{"x": 1},'
        ' {"ports": [{"port": 1, "y": 2, "port": 2}]}], "apiVersion": "v1", "apiVersion": "v1"}'
    )
    answer = space.client.post(space.collection("endpoints").path, body, fieldValidation="Strict")
    assert answer.message.partition("strict decoding error: ")[2] == (
        'duplicate field "metadata.name", unknown field "metadata.nope",'
        ' unknown field "subsets[0].x", unknown field "subsets[1].ports[0].y",'
        ' duplicate field "subsets[1].ports[0].port", duplicate field "apiVersion"'
    )


def test_unknown_fields_of_yaml_are_told_in_the_order_of_their_names(space: Space) -> None:
    body = "z: 1\nmetadata:\n  name: a\n  nope: 1\na: 1\n"
    answer = space.client.post(
        space.config_maps.path, body, headers={"Content-Type": "application/yaml"}
    )
    assert answer.warnings == [
        f'299 - "unknown field \\"{path}\\""' for path in ("a", "metadata.nope", "z")
    ]


def test_unknown_fields_of_a_patch_are_told_in_the_order_of_their_names(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.config_maps.patch("a", {"z": 1, "metadata": {"nope": 1}, "a": 1})
    assert answer.warnings == [
        f'299 - "unknown field \\"{path}\\""' for path in ("a", "metadata.nope", "z")
    ]


def test_operations_of_a_patch_are_told_of_one_after_the_other(space: Space) -> None:
    space.config_maps.create("a")
    patch = (
        '[{"op": "add", "path": "/data", "value": {}, "foo": 1, "foo": 2},'
        ' {"op": "add", "path": "/x", "path": "/data/k", "value": "v"}]'
    )
    answer = space.client.patch(
        space.config_maps.item("a"), patch, kind="application/json-patch+json"
    )
    assert answer.warnings == [
        '299 - "json patch unknown field \\"[0].foo\\""',
        '299 - "json patch duplicate field \\"[1].path\\""',
    ]


@pytest.mark.parametrize("text", ['"kind": "Secret"', '"data": 1', '"other": 2'])
def test_that_a_body_is_too_deep_is_told_before_anything_else(space: Space, text: str) -> None:
    deep = "[" * 300 + "]" * 300
    answer = space.client.post(space.config_maps.path, f'{{{text}, "extra": {deep}}}')
    assert answer.status == 400
    assert "json parse error: exceeded max depth" in answer.message


def test_repeated_keys_of_yaml_are_named_by_their_line(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, REPEATED_YAML, headers={"Content-Type": "application/yaml"}
    )
    assert (answer.status, answer.body["data"]) == (201, {"k": "w"})
    assert answer.warnings == ['299 - "line 5: key \\"k\\" already set in map"']


def test_paths_go_through_lists_and_maps(space: Space) -> None:
    body = {
        "metadata": {"name": "a"},
        "subsets": [{"addresses": []}, {"ports": [{"port": 1, "nope": 2}]}],
        "metadataX": 1,
    }
    answer = space.client.post(space.collection("endpoints").path, body, fieldValidation="Strict")
    assert answer.status == 400
    assert 'unknown field "subsets[1].ports[0].nope"' in answer.message
    assert 'unknown field "metadataX"' in answer.message


def test_fields_of_metadata_are_checked_too(space: Space) -> None:
    body = {"metadata": {"name": "a", "nope": 1}}
    answer = space.client.post(space.config_maps.path, body)
    assert answer.warnings == ['299 - "unknown field \\"metadata.nope\\""']


@pytest.mark.parametrize("level", ["Ignore", "Warn", "Strict"])
def test_an_unknown_field_and_a_wrong_type_are_refused_at_every_level(
    space: Space, level: str
) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": 5}, "extra": 1}
    answer = space.client.post(space.config_maps.path, body, fieldValidation=level)
    assert answer.status == 400


def test_an_update_warns_too(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.config_maps.put({"metadata": {"name": "a"}, "extra": 1})
    assert answer.warnings == ['299 - "unknown field \\"extra\\""']
    strict = space.config_maps.put(
        {"metadata": {"name": "a"}, "extra": 1}, fieldValidation="Strict"
    )
    assert strict.status == 400


def test_an_unknown_level_is_invalid(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, {"metadata": {"name": "a"}}, fieldValidation="Loose"
    )
    assert answer.status == 422
    assert answer.causes == [
        (
            "fieldValidation",
            "FieldValueNotSupported",
            'Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
        )
    ]


def test_keys_that_look_alike_inside_text_are_no_duplicates(space: Space) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": '{"k": 1, "k": 2}', "l": '"k":"k":'}}
    answer = space.client.post(space.config_maps.path, body)
    assert answer.warnings == []
    assert answer.body["data"] == body["data"]


def test_field_names_are_told_apart_by_case(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, {"metadata": {"name": "a"}, "Data": {"k": "v"}}
    )
    assert "data" not in answer.body
    assert answer.warnings == ['299 - "unknown field \\"Data\\""']


def test_many_warnings_stay_within_their_limit(space: Space) -> None:
    body = {"metadata": {"name": "a"}, **{f"x{n:03}" + "y" * 300: 1 for n in range(40)}}
    answer = space.client.post(space.config_maps.path, body)
    assert answer.status == 201
    assert 0 < sum(map(len, answer.warnings)) < 4600


def test_a_repeated_apply_is_checked_as_strictly_as_it_asks(space: Space) -> None:
    body = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {space.name}}}\n"
        "data:\n  k: one\n  k: two\n"
    )

    def applied(level: str) -> int:
        answer = space.client.patch(
            space.config_maps.item("a"),
            body,
            kind="application/apply-patch+yaml",
            fieldManager="m",
            fieldValidation=level,
        )
        return answer.status

    assert [applied("Ignore"), applied("Ignore"), applied("Ignore")] == [201, 200, 200]
    assert applied("Strict") == 400


@pytest.mark.both_dialects
@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("name", ["a", "new"])
def test_a_strict_apply_names_repeated_and_unknown_fields(
    space: Space, form: str, name: str
) -> None:
    space.config_maps.create("a")
    head = '"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "' + name + '", "x": 1}'
    body = {
        "json": f'{{{head}, "data": {{"k": "v", "k": "w"}}, "y": 2}}',
        "yaml": f'{head.replace(", ", f"{chr(10)}", 2)}\n"data":\n  k: v\n  k: w\n"y": 2\n',
    }[form]
    answer = space.client.patch(
        space.config_maps.item(name),
        body,
        kind="application/apply-patch+yaml",
        fieldManager="m",
        fieldValidation="Strict",
    )
    assert answer.status == 400
    assert 'key "k" already set in map' in answer.message
    named = ['unknown field "metadata.x"' in answer.message, 'unknown field "y"' in answer.message]
    assert named == [space.dialect.strict_apply_names_all] * 2
