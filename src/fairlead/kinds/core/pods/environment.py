"""The environment of containers: variables, and where their values come from."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.core.volumes.references import (
    check_field_reference,
    check_resource_reference,
)
from fairlead.kinds.rules import are_usual_env_names, config_key_errors, env_name_errors
from fairlead.schema.names import dns_subdomain

FIELDS_IN_VARIABLES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.podIP",
    "status.podIPs",
)
MORE_THAN_ONE = "may not have more than one field specified at a time"


def check_env(variables: list[Object], path: str, causes: Causes) -> None:
    well_named = are_usual_env_names([variable["name"] for variable in variables])
    for index, variable in enumerate(variables):
        if not well_named:
            _check_name(variable["name"], f"{path}[{index}].name", causes)
        source = variable.get("valueFrom")
        if source is not None:
            has_value = bool(variable.get("value"))
            _check_value_source(source, has_value, f"{path}[{index}].valueFrom", causes)


def _check_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path)
    else:
        causes.invalid_each(path, name, env_name_errors(name))


def _check_value_source(source: Object, has_value: bool, path: str, causes: Causes) -> None:
    given = [name for name in _VALUE_SOURCES if name in source]
    for name in given:
        _VALUE_SOURCES[name](source[name], f"{path}.{name}", causes)
    found = len(given)
    if not found:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or"
            " `secretKeyRef`"
        )
        causes.invalid(path, "", detail)
    elif has_value:
        causes.invalid(path, "", "may not be specified when `value` is not empty")
    elif found > 1:
        causes.invalid(path, "", MORE_THAN_ONE)


def _check_field(reference: Object, path: str, causes: Causes) -> None:
    check_field_reference(reference, FIELDS_IN_VARIABLES, path, causes)


def _check_key(reference: Object, path: str, causes: Causes) -> None:
    name, key = reference.get("name", ""), reference["key"]
    if wrong := dns_subdomain(name):
        causes.invalid_each(f"{path}.name", name, wrong)
    if not key:
        causes.required(f"{path}.key")
    elif mistakes := config_key_errors(key):
        causes.invalid_each(f"{path}.key", key, mistakes)


_VALUE_SOURCES: dict[str, Callable[[Object, str, Causes], None]] = {
    "fieldRef": _check_field,
    "resourceFieldRef": check_resource_reference,
    "configMapKeyRef": _check_key,
    "secretKeyRef": _check_key,
}


def check_env_from(sources: list[Object], path: str, causes: Causes) -> None:
    for index, source in enumerate(sources):
        source_path = f"{path}[{index}]"
        prefix = source.get("prefix", "")
        if prefix:
            causes.invalid_each(f"{source_path}.prefix", prefix, env_name_errors(prefix))
        found = 0
        for name in ("configMapRef", "secretRef"):
            if source.get(name) is not None:
                _check_object_name(source[name].get("name", ""), f"{source_path}.{name}", causes)
                found += 1
        if not found:
            causes.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif found > 1:
            causes.invalid(path, "", MORE_THAN_ONE)


def _check_object_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(f"{path}.name")
    else:
        # A trailing dash is let through, as for the stem of a generated name.
        stem = name[:-1] + "a" if len(name) > 1 and name[-1] == "-" else name
        causes.invalid_each(f"{path}.name", name, dns_subdomain(stem))
