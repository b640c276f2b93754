"""Reads stored objects in versions that are no longer served: the reference still stores
definitions in v1beta1, and objects that it wrote years ago keep their version until they change.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object

# Converts a parsed object to the shape of the version that we store.
Adapt = Callable[[Object, Dialect], Object]

_DEFINITIONS = "apiextensions/v1/customresourcedefinitions"
_BUDGETS = "policy/v1/poddisruptionbudgets"

# Former versions of the same shape as the stored version, by resource key. Of priority levels only
# the name of a field differs, which messages do not have.
_SAME_SHAPE = {
    "admissionregistration/v1/mutatingwebhookconfigurations": "admissionregistration.@/v1beta1",
    "admissionregistration/v1/validatingwebhookconfigurations": "admissionregistration.@/v1beta1",
    "apiregistration/v1/apiservices": "apiregistration.@/v1beta1",
    "batch/v1/cronjobs": "batch/v1beta1",
    "coordination/v1/leases": "coordination.@/v1beta1",
    "flowcontrol/v1/flowschemas": "flowcontrol.apiserver.@/v1beta2",
    "flowcontrol/v1/prioritylevelconfigurations": "flowcontrol.apiserver.@/v1beta2",
    "node/v1/runtimeclasses": "node.@/v1beta1",
    "rbac/v1/clusterrolebindings": "rbac.authorization.@/v1beta1",
    "rbac/v1/clusterroles": "rbac.authorization.@/v1beta1",
    "rbac/v1/rolebindings": "rbac.authorization.@/v1beta1",
    "rbac/v1/roles": "rbac.authorization.@/v1beta1",
    "scheduling/v1/priorityclasses": "scheduling.@/v1beta1",
    "storage/v1/csidrivers": "storage.@/v1beta1",
    "storage/v1/csinodes": "storage.@/v1beta1",
    "storage/v1/storageclasses": "storage.@/v1beta1",
    "storage/v1/volumeattachments": "storage.@/v1beta1",
}


def former_version(key: str, dialect: Dialect) -> tuple[str, Adapt] | None:
    """The former apiVersion in which a resource can be read, and its converter."""
    version, adapt = _ADAPTED.get(key) or (_SAME_SHAPE.get(key, ""), _unchanged)
    return (dialect.group_name(version), adapt) if version else None


def _unchanged(value: Object, _: Dialect) -> Object:
    return value


_OF_EVERY_VERSION = {
    "validation": "schema",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
}


def _definition(value: Object, _: Dialect) -> Object:
    """In v1beta1 the settings that all versions share stand beside `versions`, a single `version`
    may replace the list, and unknown fields are preserved by default."""
    spec: Object = {**(value.get("spec") or {})}
    common = {
        name: spec.pop(old) for old, name in _OF_EVERY_VERSION.items() if spec.get(old) is not None
    }
    single = {"name": spec.pop("version", None), "served": True, "storage": True}
    versions = spec.get("versions") or ([single] if single["name"] else [])
    spec["versions"] = [_with_columns({**common, **version}) for version in versions]
    spec.setdefault("preserveUnknownFields", True)
    spec.setdefault("scope", "Namespaced")
    spec["conversion"] = _conversion(spec.get("conversion") or {"strategy": "None"})
    return {**value, "spec": spec}


def _with_columns(version: Object) -> Object:
    columns = version.get("additionalPrinterColumns")
    if columns:
        version["additionalPrinterColumns"] = [
            {"jsonPath" if name == "JSONPath" else name: item for name, item in column.items()}
            for column in columns
        ]
    return version


def _conversion(value: Object) -> Object:
    """In v1beta1 the fields of the webhook stand beside the strategy."""
    own = ("webhookClientConfig", "conversionReviewVersions")
    converted = {name: item for name, item in value.items() if name not in own}
    client, reviews = (value.get(name) for name in own)
    if client is not None or reviews:
        versions = reviews or ["v1beta1"]
        converted["webhook"] = {"clientConfig": client, "conversionReviewVersions": versions}
    return converted


def _budget(value: Object, dialect: Dialect) -> Object:
    """In v1beta1 an empty selector selects nothing. v1 expresses that as a label that no pod has;
    `DoesNotExist` on that label selects all pods."""
    spec = value.get("spec") or {}
    selector = spec.get("selector")
    if selector is None:
        return value
    label = dialect.label("pdb.@/deprecated-v1beta1-empty-selector-match")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        selector = {"matchExpressions": [{"key": label, "operator": "Exists"}]}
    elif selector == {"matchExpressions": [{"key": label, "operator": "DoesNotExist"}]}:
        selector = {}
    return {**value, "spec": {**spec, "selector": selector}}


_ADAPTED: dict[str, tuple[str, Adapt]] = {
    _DEFINITIONS: ("apiextensions.@/v1beta1", _definition),
    _BUDGETS: ("policy/v1beta1", _budget),
}
