"""Rules of custom resource definitions, except their schemas."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.group_rules import (
    DIALECTS,
    DROP,
    Found,
    Kind,
    changed,
    forbidden,
    invalid,
    required,
    unsupported,
)

from fairlead.codec.types.names import dns_1035_label, dns_subdomain
from fairlead.resources.apiextensions.shown_schemas import MAX_SHOWN, shown_schema
from fairlead.resources.apiextensions.versions import shown_version
from fairlead.resources.causes import show

KEY = "apiextensions/v1/customresourcedefinitions"
SCHEMA = {"openAPIV3Schema": {"type": "object"}}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA}
DEFINITION: dict[str, Any] = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [VERSION],
    },
}
LABEL = dns_1035_label("Bad_")[0]
MIXED = "may have mixed case, but should otherwise match: "
SCALE = "spec.subresources.scale"
COLUMN = "spec.additionalPrinterColumns[0]"
TYPES = "must be one of boolean,date,integer,number,string"
CONFIG = "spec.conversion.webhookClientConfig"
REVIEWS = "spec.conversion.conversionReviewVersions"
ONLY_WEBHOOK = "should not be set when strategy is not set to Webhook"
ANOTHER = {**VERSION, "name": "v2", "storage": False}


def _conversion(**conversion: Any) -> dict[str, Any]:
    return {"spec.conversion": conversion}


def _scale(**scale: Any) -> dict[str, Any]:
    return {"spec.versions[0].subresources": {"scale": scale}}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"spec.versions[1]": ANOTHER}, []),
        (
            {"metadata.name": "x"},
            [invalid("metadata.name", '"x"', 'must be spec.names.plural+"."+spec.group')],
        ),
        (
            {"metadata.name": "widgets.Bad_", "spec.group": "Bad_"},
            [
                invalid("metadata.name", '"widgets.Bad_"', dns_subdomain("Bad_")[0]),
                invalid("spec.group", '"Bad_"', dns_subdomain("Bad_")[0]),
            ],
        ),
        (
            {"metadata.name": "widgets.single", "spec.group": "single"},
            [invalid("spec.group", '"single"', "should be a domain with at least one dot")],
        ),
        ({"spec.scope": ""}, [required("spec.scope")]),
        (
            {"spec.scope": "Galaxy"},
            [unsupported("spec.scope", '"Galaxy"', "Cluster", "Namespaced")],
        ),
        (
            {"spec.versions[0].schema": DROP},
            [required("spec.versions[0].schema.openAPIV3Schema", "schemas are required")],
        ),
        (
            {"spec.versions[0].name": "V_1"},
            [
                invalid("spec.versions[0].name", '"V_1"', LABEL),
                invalid("spec.version", '"V_1"', LABEL),
            ],
        ),
        (
            {"spec.versions": []},
            [
                invalid(
                    "spec.versions",
                    "[]apiextensions.CustomResourceDefinitionVersion{}",
                    "must have exactly one version marked as storage version",
                ),
                invalid(
                    "status.storedVersions",
                    "[]string(nil)",
                    "must have at least one stored version",
                ),
            ],
        ),
        (
            {"spec.versions[0].deprecationWarning": "w"},
            [
                invalid(
                    "spec.versions[0].deprecationWarning",
                    '"w"',
                    "can only be set for deprecated versions",
                )
            ],
        ),
        (
            {
                "spec.versions[0].deprecated": True,
                "spec.versions[0].deprecationWarning": "",
            },
            [invalid("spec.versions[0].deprecationWarning", '""', "must not be an empty string")],
        ),
        (
            {
                "spec.names.singular": "Bad_",
                "spec.names.kind": "Bad_Kind",
                "spec.names.listKind": "Bad_Kind",
                "spec.names.shortNames": ["Bad_"],
                "spec.names.categories": ["Bad_"],
            },
            [
                invalid("spec.names.singular", '"Bad_"', LABEL),
                invalid("spec.names.kind", '"Bad_Kind"', MIXED + LABEL),
                invalid("spec.names.listKind", '"Bad_Kind"', MIXED + LABEL),
                invalid("spec.names.shortNames[0]", '"Bad_"', LABEL),
                invalid(
                    "spec.names.listKind", '"Bad_Kind"', "kind and listKind may not be the same"
                ),
                invalid("spec.names.categories[0]", '"Bad_"', LABEL),
            ],
        ),
        (
            _scale(),
            [required(f"{SCALE}.specReplicasPath"), required(f"{SCALE}.statusReplicasPath")],
        ),
        (
            _scale(
                specReplicasPath="spec.replicas",
                statusReplicasPath=".spec.replicas",
                labelSelectorPath=".x",
            ),
            [
                invalid(
                    f"{SCALE}.specReplicasPath",
                    '"spec.replicas"',
                    "must be a simple json path starting with .",
                ),
                invalid(
                    f"{SCALE}.statusReplicasPath",
                    '".spec.replicas"',
                    "should be a json path under .status",
                ),
                invalid(
                    f"{SCALE}.labelSelectorPath",
                    '".x"',
                    "should be a json path under either .spec or .status",
                ),
            ],
        ),
        (
            {"spec.versions[0].additionalPrinterColumns": [{"format": "x", "jsonPath": "a"}]},
            [
                required(f"{COLUMN}.name"),
                required(f"{COLUMN}.type", TYPES),
                invalid(
                    f"{COLUMN}.format",
                    '"x"',
                    "must be one of byte,date,date-time,double,float,int32,int64,password",
                ),
                invalid(f"{COLUMN}.JSONPath", '"a"', "must be a simple json path starting with ."),
            ],
        ),
        (
            {"spec.preserveUnknownFields": True},
            [
                invalid(
                    "spec.preserveUnknownFields",
                    "true",
                    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
                    " spec.versions[*].schema instead",
                )
            ],
        ),
        (
            {
                "spec.preserveUnknownFields": True,
                "spec.versions[0].schema.openAPIV3Schema": {
                    "type": "object",
                    "properties": {"a": {"type": "string", "default": "b"}},
                },
            },
            [
                invalid(
                    "spec.preserveUnknownFields",
                    "true",
                    "must be false in order to use defaults in the schema",
                ),
                invalid(
                    "spec.preserveUnknownFields",
                    "true",
                    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
                    " spec.versions[*].schema instead",
                ),
            ],
        ),
        (
            {"spec.versions[0].schema": {"openAPIV3Schema": {"type": "object", "nullable": True}}},
            [
                forbidden(
                    "spec.validation.openAPIV3Schema.nullable",
                    "nullable cannot be true at the root",
                )
            ],
        ),
        (
            _conversion(strategy="Magic"),
            [unsupported("spec.conversion.strategy", '"Magic"', "None", "Webhook")],
        ),
        (
            _conversion(strategy="Webhook"),
            [required(CONFIG, "required when strategy is set to Webhook"), required(REVIEWS)],
        ),
        (
            _conversion(
                strategy="None",
                webhook={"clientConfig": {}, "conversionReviewVersions": ["v1"]},
            ),
            [forbidden(CONFIG, ONLY_WEBHOOK), forbidden(REVIEWS, ONLY_WEBHOOK)],
        ),
        (
            _conversion(
                strategy="Webhook",
                webhook={"clientConfig": {}, "conversionReviewVersions": ["v9"]},
            ),
            [
                required(CONFIG, "exactly one of url or service is required"),
                invalid(REVIEWS, '[]string{"v9"}', "must include at least one of v1, v1beta1"),
            ],
        ),
    ],
)
def test_definition(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(KEY).wrong(changed(DEFINITION, changes)) == causes


def test_an_empty_definition_lacks_everything() -> None:
    fields = [field for field, _, _ in Kind(KEY).wrong({"metadata": {"name": "x"}})]
    assert fields == [
        "metadata.name",
        "spec.group",
        "spec.scope",
        "spec.versions",
        "spec.names.plural",
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
        "status.storedVersions",
    ]


@pytest.mark.parametrize(
    ("second", "detail"),
    [
        ({**VERSION, "storage": False}, "must contain unique version names"),
        (
            {**ANOTHER, "storage": True},
            "must have exactly one version marked as storage version",
        ),
    ],
)
def test_versions_fit_together(second: dict[str, Any], detail: str) -> None:
    field, reason, message = Kind(KEY).wrong(changed(DEFINITION, {"spec.versions[1]": second}))[0]
    assert (field, reason) == ("spec.versions", "Invalid")
    assert message.endswith(f": {detail}")
    assert 'CustomResourceDefinitionVersion{Name:"v1", Served:true' in message


def test_a_storage_version_that_is_not_stored_is_shown_without_what_all_versions_share() -> None:
    second = {**VERSION, "name": "v2"}
    causes = Kind(KEY).wrong(changed(DEFINITION, {"spec.versions[1]": second}))
    message = next(item for field, _, item in causes if field == "status.storedVersions")
    assert "Schema:(*apiextensions.CustomResourceValidation)(nil)" in message


def test_what_differs_is_checked_in_its_version() -> None:
    second = {**ANOTHER, "subresources": {"scale": {}}}
    causes = Kind(KEY).wrong(changed(DEFINITION, {"spec.versions[1]": second}))
    assert causes[0] == required("spec.versions[1].subresources.scale.specReplicasPath")


def test_defaults_and_status() -> None:
    value = Kind(KEY).existing({**DEFINITION, "status": {"acceptedNames": {"plural": "x"}}})
    assert value["spec"]["names"]["singular"] == "widget"
    assert value["spec"]["names"]["listKind"] == "WidgetList"
    assert value["spec"]["conversion"] == {"strategy": "None"}
    assert value["metadata"]["generation"] == 1
    assert value["status"] == {
        "acceptedNames": {"plural": "", "kind": ""},
        "conditions": None,
        "storedVersions": ["v1"],
    }


def test_a_new_storage_version_joins_the_stored_ones() -> None:
    kind = Kind(KEY)
    old = kind.existing(DEFINITION)
    versions = [{**VERSION, "storage": False}, {**ANOTHER, "storage": True}]
    new, causes = kind.update(old, changed(DEFINITION, {"spec.versions": versions}))
    assert causes == []
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]
    assert new["metadata"]["generation"] == 2
    gone = changed(DEFINITION, {"spec.versions": versions[1:]})
    assert kind.update(new, gone)[1] == [
        invalid("status.storedVersions[0]", '"v1"', "must appear in spec.versions")
    ]


@pytest.mark.parametrize("established", [False, True])
def test_names_are_fixed(established: bool) -> None:
    kind = Kind(KEY)
    old = kind.existing(DEFINITION)
    status = "True" if established else "False"
    old["status"]["conditions"] = [{"type": "Established", "status": status}]
    changes = {"spec.scope": "Cluster", "spec.names.kind": "Gadget", "spec.names.plural": "x"}
    _, causes = kind.update(old, changed(DEFINITION, changes))
    fields = ["spec.scope", "spec.names.kind"] if established else []
    assert [field for field, _, _ in causes] == [*fields, "spec.names.plural"]


def test_status_subresource() -> None:
    kind = Kind(KEY)
    old = kind.existing(DEFINITION)
    sent = changed(
        DEFINITION, {"spec": {}, "status": {"acceptedNames": {"plural": "Bad_", "kind": ""}}}
    )
    new, causes = kind.update(old, sent, "status")
    assert new["spec"] == old["spec"]
    assert causes == [invalid("status.acceptedNames.plural", '"Bad_"', LABEL)]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_own_groups_need_approval(dialect: Any) -> None:
    kind = Kind(KEY, dialect)
    group = f"x.{dialect.group_domain}"
    key = dialect.label("api-approved.@")
    value = changed(DEFINITION, {"metadata.name": f"widgets.{group}", "spec.group": group})
    ((field, reason, _),) = kind.wrong(value)
    assert (field, reason) == (f"metadata.annotations[{key}]", "Required")
    for text, reasons in (("x", ["Invalid"]), ("unapproved, a test", []), ("https://a/1", [])):
        annotated = changed(value, {"metadata.annotations": {key: text}})
        assert [reason for _, reason, _ in kind.wrong(annotated)] == reasons


def _wrong_with_status(schema: dict[str, Any]) -> Found:
    """Return the errors of the schema of a version with a status subresource."""
    version = {
        **VERSION,
        "schema": {"openAPIV3Schema": {"type": "object", **schema}},
        "subresources": {"status": {}},
    }
    return Kind(KEY).wrong(changed(DEFINITION, {"spec.versions[0]": version}))


@pytest.mark.parametrize(
    "more",
    [
        {"anyOf": [{}]},
        {"maxProperties": 0},
        {"not": {}},
        {"$schema": "x"},
        {"allOf": []},
        {"enum": []},
        {"definitions": {}},
        {"x-kubernetes-list-map-keys": []},
    ],
)
def test_the_root_of_a_schema_with_a_status_path(more: dict[str, Any]) -> None:
    ((field, reason, message),) = _wrong_with_status(more)
    assert (field, reason) == ("spec.validation.openAPIV3Schema", "Invalid")
    assert "fields are allowed at the root of the schema" in message


@pytest.mark.parametrize(
    ("schema", "first"),
    [
        ({"type": "string", "id": "x"}, ""),
        ({"type": "string", "$ref": ""}, ""),
        ({"type": "string", "allOf": [{}]}, ".type"),
        ({"additionalItems": False}, ""),
        ({"additionalProperties": False}, ""),
    ],
)
def test_of_the_root_of_a_schema_with_a_status_path_the_first_wrong_keyword_is_told(
    schema: dict[str, Any], first: str
) -> None:
    errors = [
        field
        for field, _, message in _wrong_with_status(schema)
        if "if the status subresource is enabled" in message
    ]
    assert errors == [f"spec.validation.openAPIV3Schema{first}"]


def test_dependencies_without_entries_are_not_supported_either() -> None:
    inner = {"type": "object", "dependencies": {}}
    errors = _wrong_with_status({"properties": {"spec": inner}})
    place = "spec.validation.openAPIV3Schema.properties[spec].dependencies"
    assert errors == [forbidden(place, "dependencies is not supported")]


@pytest.mark.parametrize("webhook", [{}, {"conversionReviewVersions": None}])
def test_a_conversion_webhook_that_says_nothing_is_dropped(webhook: dict[str, Any]) -> None:
    conversion = _conversion(strategy="None", webhook=webhook)
    value = Kind(KEY).existing(changed(DEFINITION, conversion))
    assert value["spec"]["conversion"] == {"strategy": "None"}


def test_a_schema_in_a_message_is_printed_whole() -> None:
    leaf = {"type": "string", "enum": ["a", None], "minLength": 1}
    schema = {"type": "object", "nullable": True, "properties": {"spec": leaf}}
    go_value = show(shown_schema(schema, DIALECTS["kubernetes"].marked))
    assert go_value.startswith(
        'apiextensions.JSONSchemaProps{ID:"", Schema:"", Ref:(*string)(nil), Description:"",'
        ' Type:"object", Nullable:true, Format:"", Title:"", Default:(*apiextensions.JSON)(nil),'
    )
    assert (
        'Properties:map[string]apiextensions.JSONSchemaProps{"spec":apiextensions.JSONSchemaProps{'
        in go_value
    )
    assert 'Enum:[]apiextensions.JSON{"a", apiextensions.JSON(nil)}' in go_value
    assert "MinLength:(*int64)(0xc000000000)" in go_value
    assert go_value.endswith(
        "XMapType:(*string)(nil), XValidations:apiextensions.ValidationRules(nil)}"
    )


def test_a_schema_too_long_for_a_message_is_not_printed() -> None:
    schema: Object = {"properties": {f"p{index}": {} for index in range(MAX_SHOWN)}}
    go_value = show(shown_schema(schema, DIALECTS["kubernetes"].marked))
    assert go_value == "apiextensions.JSONSchemaProps{...}"


def test_the_columns_of_a_version_in_a_message_are_printed() -> None:
    columns = [{"name": "N", "type": "string", "jsonPath": ".n", "priority": 1}]
    go_value = shown_version({**VERSION, "additionalPrinterColumns": columns})
    assert go_value.endswith(
        "AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition{"
        'apiextensions.CustomResourceColumnDefinition{Name:"N", Type:"string", Format:"",'
        ' Description:"", Priority:1, JSONPath:".n"}}}'
    )
