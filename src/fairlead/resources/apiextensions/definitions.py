"""The behaviour of CustomResourceDefinition: a client defines a resource."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from fairlead.base.release import Reworded
from fairlead.codec.types.names import dns_1035_label, dns_subdomain
from fairlead.codec.types.string_formats import is_known_format
from fairlead.resources.admissionregistration.client_config import (
    check_client_config,
    check_review_versions,
    has_known_version,
)
from fairlead.resources.apiextensions.approval import check_approval
from fairlead.resources.apiextensions.conditions import (
    CLEANUP,
    ESTABLISHED,
    TERMINATING,
    condition,
    condition_of,
    is_true,
    set_condition,
)
from fairlead.resources.apiextensions.schema_defaults import has_default, inner_schemas
from fairlead.resources.apiextensions.schemas import check_schema
from fairlead.resources.apiextensions.versions import (
    check_columns,
    check_deprecation,
    check_selectable_fields,
    check_subresources,
    shown_version,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.context import Context
from fairlead.resources.go_values import go_list
from fairlead.resources.metadata import NameRule
from fairlead.resources.rules import immutable, one_of
from fairlead.resources.storage.shared import OrderedBehaviour, Step

SCOPES = ("Cluster", "Namespaced")


class CustomResourceDefinitionBehaviour(OrderedBehaviour):
    qualified_finalizers = False
    update_order = (Step.METADATA_CHANGE, Step.RULES)

    def name_rule_of(self, value: Object) -> NameRule:
        spec = value["spec"]
        expected = f"{spec['names']['plural']}.{spec['group']}"

        def rule(name: str) -> list[str]:
            errors = dns_subdomain(name)
            if name != expected:
                errors.append('must be spec.names.plural+"."+spec.group')
            return errors

        return rule

    def fill_defaults(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        names = spec["names"]
        if not names.get("singular") and names["kind"]:
            names["singular"] = names["kind"].lower()
        if not names.get("listKind") and names["kind"]:
            names["listKind"] = f"{names['kind']}List"
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        webhook = spec["conversion"].get("webhook") or {}
        if "clientConfig" not in webhook and not webhook.get("conversionReviewVersions"):
            spec["conversion"].pop("webhook", None)  # an empty webhook counts as none
        _note_storage_version(value)

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        _note_storage_version(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        super().prepare_update(value, old, context)
        value["status"] = {**value["status"]}
        stored, name = value["status"]["storedVersions"] or [], _storage_version(value["spec"])
        if name is not None and name not in stored:
            value["status"]["storedVersions"] = [*stored, name]

    def prepare_delete(self, value: Object, context: Context) -> None:
        """Add the finalizer with which a controller deletes the custom objects first. The
        Terminating condition is set at once, so that no new objects are created."""
        metadata = value["metadata"]
        if condition_of(value, TERMINATING) is not None:
            return
        metadata["generation"] -= 1  # undo the increment: deletion does not change the spec
        metadata.pop("deletionGracePeriodSeconds", None)
        finalizers = metadata.get("finalizers") or []
        cleanup = context.dialect.group_name(CLEANUP)
        metadata["finalizers"] = finalizers if cleanup in finalizers else [*finalizers, cleanup]
        message = (
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        )
        set_condition(value, condition(TERMINATING, True, "InstanceDeletionPending", message))

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        """Warn of formats that are not checked, if they are new in the definition."""
        if not context.gates["WarningOfUnknownFormats"] or context.subresource:
            return
        old_formats = _unknown_formats(old) if old is not None else set()
        for form in sorted(_unknown_formats(value) - old_formats):
            context.warn(f"unrecognized format {quote(form)}")

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check(value, None, causes, context)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self._check(value, old, causes, context)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        self.check_metadata_change(value, old, causes)
        check_names(value["status"]["acceptedNames"], "status.acceptedNames", causes)

    def _check(self, value: Object, old: Object | None, causes: Causes, context: Context) -> None:
        spec, status = value["spec"], value["status"]
        _check_spec(spec, old["spec"] if old else None, causes, context)
        if old is not None:
            _check_names_change(value, old, causes)
        check_names(status["acceptedNames"], "status.acceptedNames", causes)
        versions = hoist(spec["versions"] or []).versions
        _check_stored_versions(status["storedVersions"], versions, causes)
        check_approval(value, old, context.dialect, causes)
        was_preserved = old is not None and old["spec"].get("preserveUnknownFields")
        if spec.get("preserveUnknownFields") and not was_preserved:
            field = context.dialect.marked("x-@-preserve-unknown-fields")
            causes.invalid(
                "spec.preserveUnknownFields",
                True,
                f"cannot set to true, set {field} to true in spec.versions[*].schema instead",
            )


def _unknown_formats(value: Object) -> set[str]:
    """The formats in the schemas of a definition that are not checked."""
    ahead = [
        (version.get("schema") or {}).get("openAPIV3Schema")
        for version in value["spec"]["versions"] or ()
    ]
    formats: set[str] = set()
    while ahead:
        schema = ahead.pop()
        if not isinstance(schema, dict):
            continue
        kind, form = schema.get("type") or "string", schema.get("format") or ""
        if form and not is_known_format(kind, form):
            formats.add(form)
        for word, inner in schema.items():
            ahead += [part for part, _ in inner_schemas(word, inner, "")]
    return formats


def _storage_version(spec: dict[str, Any]) -> str | None:
    return next((v["name"] for v in spec["versions"] or () if v["storage"]), None)


def _note_storage_version(value: Object) -> None:
    """Set `storedVersions` to the storage version if it is empty."""
    status, name = value["status"], _storage_version(value["spec"])
    if not status["storedVersions"] and name is not None:
        status["storedVersions"] = [name]


def _check_spec(
    spec: dict[str, Any], old: dict[str, Any] | None, causes: Causes, context: Context
) -> None:
    _check_group(spec["group"], causes)
    one_of(spec["scope"], SCOPES, "spec.scope", causes)
    versions = spec["versions"] or []
    if old is None or _all_have_schemas(old["versions"] or []):
        _check_schemas_given(versions, causes)
    if spec.get("preserveUnknownFields") and any(map(_has_default, versions)):
        detail = "must be false in order to use defaults in the schema"
        causes.invalid("spec.preserveUnknownFields", True, detail)
    hoisted = hoist(versions)
    old_versions = hoist((old or {}).get("versions") or [])
    for index, version in enumerate(hoisted.versions):
        path = f"spec.versions[{index}]"
        _check_version(version, versions[index], path, causes, context)
        check_selectable_fields(
            version,
            (version.get("schema") or {}).get("openAPIV3Schema"),
            f"{path}.selectableFields",
            causes,
            without_schema=_WITHOUT_VERSION_SCHEMA,
            is_unchanged=_selects_the_same(version, old_versions.of(version["name"])),
        )
    _check_version_set(spec["versions"], hoisted, causes)
    check_required_names(spec["names"], "spec.names", causes)
    check_names(spec["names"], "spec.names", causes)
    _check_shared(hoisted, versions, causes, context)
    check_selectable_fields(
        hoisted.top,
        (hoisted.top.get("schema") or {}).get("openAPIV3Schema"),
        hoisted.path("selectableFields"),
        causes,
        without_schema="may only be set when validations.schema is included",
        is_unchanged=_selects_the_same(hoisted.top, old_versions.top),
    )
    conversion = spec.get("conversion")
    if spec.get("preserveUnknownFields") and conversion and conversion["strategy"] != "None":
        detail = "must be None if spec.preserveUnknownFields is true"
        causes.invalid("spec.conversion.strategy", conversion["strategy"], detail)
    check_conversion(conversion, old.get("conversion") if old else None, causes)


_WITHOUT_VERSION_SCHEMA = "may only be set when `version.schema.openAPIV3Schema` is not included"


def _selects_the_same(version: Spec, old: Spec) -> bool:
    return version.get("selectableFields") == old.get("selectableFields")


def _check_group(group: str, causes: Causes) -> None:
    errors = dns_subdomain(group)
    if not group:
        causes.required("spec.group")
    elif errors:
        causes.invalid("spec.group", group, ",".join(errors))
    elif "." not in group:
        causes.invalid("spec.group", group, "should be a domain with at least one dot")


def _has_schema(version: dict[str, Any]) -> bool:
    return (version.get("schema") or {}).get("openAPIV3Schema") is not None


def _all_have_schemas(versions: list[dict[str, Any]]) -> bool:
    return all(_has_schema(version) for version in versions)


def _has_default(version: dict[str, Any]) -> bool:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema is not None and has_default(schema)


def _check_schemas_given(versions: list[dict[str, Any]], causes: Causes) -> None:
    for index, version in enumerate(versions):
        if not _has_schema(version):
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            causes.required(path, Reworded("schemas are required", ""))


def _check_version(
    version: dict[str, Any], stored: dict[str, Any], path: str, causes: Causes, context: Context
) -> None:
    """Check the fields of a version that are not hoisted; `stored` is the complete version."""
    errors = dns_1035_label(version["name"])
    if errors:
        causes.invalid(f"{path}.name", version["name"], ",".join(errors))
    check_deprecation(version, path, causes)
    enabled = status_enabled(stored)
    check_schema(version.get("schema"), enabled, f"{path}.schema", causes, context)
    check_subresources(version.get("subresources"), f"{path}.subresources", causes)
    columns = version.get("additionalPrinterColumns")
    check_columns(columns, f"{path}.additionalPrinterColumns", causes)


def _check_version_set(
    versions: list[dict[str, Any]] | None, hoisted: Hoisted, causes: Causes
) -> None:
    names = [version["name"] for version in versions or ()]
    shown = GoValue("[]apiextensions.CustomResourceDefinitionVersion(nil)")
    if versions is not None:
        listed = [shown_version(version) for version in hoisted.versions]
        text = f"[]apiextensions.CustomResourceDefinitionVersion{{{', '.join(listed)}}}"
        shown = GoValue(text, [orjson.loads(version.json) for version in listed])
    if len(set(names)) != len(names):
        causes.invalid("spec.versions", shown, "must contain unique version names")
    if sum(version["storage"] for version in versions or ()) != 1:
        detail = "must have exactly one version marked as storage version"
        causes.invalid("spec.versions", shown, detail)
    if names:  # formerly the field `spec.version`, which is still checked
        check_label(names[0], "spec.version", causes)


def _check_shared(
    hoisted: Hoisted, versions: list[dict[str, Any]], causes: Causes, context: Context
) -> None:
    top = hoisted.top
    enabled = any(status_enabled(version) for version in versions)
    check_schema(top.get("schema"), enabled, hoisted.path("schema"), causes, context)
    check_subresources(top.get("subresources"), hoisted.path("subresources"), causes)
    columns = "additionalPrinterColumns"
    check_columns(top.get(columns), hoisted.path(columns), causes)


def _check_names_change(value: Object, old: Object, causes: Causes) -> None:
    """Names and scope locate the stored objects: group and plural never change, kind and scope not
    once the definition is established."""
    spec, before = value["spec"], old["spec"]
    if is_true(old, ESTABLISHED):
        immutable(spec["scope"], before["scope"], "spec.scope", causes)
        immutable(spec["names"]["kind"], before["names"]["kind"], "spec.names.kind", causes)
    immutable(spec["group"], before["group"], "spec.group", causes)
    immutable(spec["names"]["plural"], before["names"]["plural"], "spec.names.plural", causes)


def _check_stored_versions(
    stored: list[str] | None, versions: list[dict[str, Any]], causes: Causes
) -> None:
    path = "status.storedVersions"
    if not stored:
        causes.invalid(path, go_list("string", stored), "must have at least one stored version")
        return
    missing = {name: index for index, name in enumerate(stored)}
    for version in versions:
        name = version["name"]
        if missing.pop(name, None) is None and version["storage"]:
            is_later = causes.has_later_wording
            shown = go_list("string", stored) if is_later else shown_version(version)
            causes.invalid(path, shown, f"must have the storage version {name}")
    for name, index in missing.items():
        causes.invalid(f"{path}[{index}]", name, _left_out(name))


def _left_out(name: str) -> Reworded:
    return Reworded(
        "must appear in spec.versions",
        f"missing from spec.versions; {name} was previously a storage version, and must remain in"
        " spec.versions until a storage migration ensures no data remains persisted in"
        f" {name} and removes {name} from status.storedVersions",
    )


# Hoisting of the fields that all versions share
#
# Schema, subresources and columns that are equal in every version are checked once, and their
# errors name the path of the whole definition: `spec.validation`, `spec.subresources`,
# `spec.additionalPrinterColumns`.

Spec = dict[str, Any]

_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


@dataclass(frozen=True, slots=True)
class Hoisted:
    """`top` holds the shared fields, by their name in a version; `versions` are the versions
    without them."""

    top: dict[str, Any]
    versions: list[Spec]

    def of(self, name: str) -> Spec:
        """The version of this name; empty if there is none."""
        return next((version for version in self.versions if version["name"] == name), {})

    def path(self, field: str) -> str:
        """The path of a shared field."""
        return f"spec.{_SHARED[field]}"


def hoist(versions: list[Spec]) -> Hoisted:
    shared = [
        field
        for field in _SHARED
        if versions and all(v.get(field) == versions[0].get(field) for v in versions)
    ]
    top = {field: versions[0].get(field) for field in shared}
    rest = [{name: item for name, item in v.items() if name not in shared} for v in versions]
    return Hoisted(top, rest)


def status_enabled(version: Spec) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


# Names of a custom resource

REQUIRED = ("plural", "singular", "kind", "listKind")


def check_required_names(names: dict[str, Any], path: str, causes: Causes) -> None:
    for name in REQUIRED:
        if not names.get(name):
            causes.required(f"{path}.{name}")


def check_names(names: dict[str, Any], path: str, causes: Causes) -> None:
    """Check the syntax of the names that are set; a kind may be in mixed case."""
    for name in ("plural", "singular"):
        check_label(names.get(name, ""), f"{path}.{name}", causes)
    for name in ("kind", "listKind"):
        text = names.get(name, "")
        errors = dns_1035_label(text.lower()) if text else []
        if errors:
            detail = f"may have mixed case, but should otherwise match: {','.join(errors)}"
            causes.invalid(f"{path}.{name}", text, detail)
    _check_labels(names.get("shortNames") or (), f"{path}.shortNames", causes)
    if names["kind"] and names["kind"] == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        causes.invalid(f"{path}.listKind", names["kind"], detail)
    _check_labels(names.get("categories") or (), f"{path}.categories", causes)


def check_label(text: str, path: str, causes: Causes) -> None:
    """Check a label if it is set; all its errors are joined to one cause."""
    errors = dns_1035_label(text) if text else []
    if errors:
        causes.invalid(path, text, ",".join(errors))


def _check_labels(labels: Iterable[str], path: str, causes: Causes) -> None:
    for index, label in enumerate(labels):
        errors = dns_1035_label(label)
        if errors:
            causes.invalid(f"{path}[{index}]", label, ",".join(errors))


# Validation of `spec.conversion`: the strategy None, or a webhook

STRATEGIES = ("None", "Webhook")
ONLY_WITH_WEBHOOK = "should not be set when strategy is not set to Webhook"
_PATH = "spec.conversion"


def review_versions(conversion: dict[str, Any] | None) -> list[str]:
    return ((conversion or {}).get("webhook") or {}).get("conversionReviewVersions") or []


def check_conversion(
    conversion: dict[str, Any] | None, old: dict[str, Any] | None, causes: Causes
) -> None:
    """`old` is the previous conversion: if its webhook supported no review version that we send,
    the new webhook need not either."""
    if conversion is None:
        return
    strategy = conversion["strategy"]
    one_of(strategy, STRATEGIES, f"{_PATH}.strategy", causes)
    config = (conversion.get("webhook") or {}).get("clientConfig")
    versions = review_versions(conversion)
    if strategy != "Webhook":
        if config is not None:
            causes.forbidden(f"{_PATH}.webhookClientConfig", ONLY_WITH_WEBHOOK)
        if versions:
            causes.forbidden(f"{_PATH}.conversionReviewVersions", ONLY_WITH_WEBHOOK)
        return
    if config is None:
        detail = "required when strategy is set to Webhook"
        causes.required(f"{_PATH}.webhookClientConfig", detail)
    else:
        check_client_config(config, f"{_PATH}.webhookClientConfig", causes)
    was_known = old is None or has_known_version(review_versions(old))
    path = f"{_PATH}.conversionReviewVersions"
    check_review_versions(versions, path, causes, missing="", require_known=was_known)
