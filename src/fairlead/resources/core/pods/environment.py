"""Validation of the environment of containers: variables and the sources of their values."""

from __future__ import annotations

from typing import Final

from fairlead.codec.types.names import dns_subdomain, is_dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.volumes.references import (
    check_field_reference,
    check_resource_reference,
)
from fairlead.resources.rules import (
    config_key_errors,
    env_name_errors,
    is_usual_config_key,
    is_usual_env_name,
)

FIELDS_IN_VARIABLES: Final[tuple[str, ...]] = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.podIP",
    "status.podIPs",
)
_KEY_SOURCES: Final[tuple[str, ...]] = ("configMapKeyRef", "secretKeyRef")
MORE_THAN_ONE = "may not have more than one field specified at a time"


def check_env(variables: list[Object], path: str, causes: Causes) -> None:
    """Check the variables of the container at `path`."""
    for index, variable in enumerate(variables):
        name: str = variable["name"]
        if not is_usual_env_name(name):
            _check_name(name, f"{path}.env[{index}].name", causes)
        source: Object | None = variable.get("valueFrom")
        if source is not None:
            has_value = bool(variable.get("value"))
            _check_value_source(source, has_value, f"{path}.env[{index}].valueFrom", causes)


def _check_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path)
    else:
        causes.invalid_each(path, name, env_name_errors(name))


def _check_value_source(source: Object, has_value: bool, path: str, causes: Causes) -> None:
    count = 0
    if "fieldRef" in source:
        count += 1
        check_field_reference(source["fieldRef"], FIELDS_IN_VARIABLES, path, causes)
    if "resourceFieldRef" in source:
        count += 1
        check_resource_reference(source["resourceFieldRef"], f"{path}.resourceFieldRef", causes)
    for name in _KEY_SOURCES:
        if name in source:
            count += 1
            _check_key(source[name], path, name, causes)
    if not count:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or"
            " `secretKeyRef`"
        )
        causes.invalid(path, "", detail)
    elif has_value:
        causes.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        causes.invalid(path, "", MORE_THAN_ONE)


def _check_key(reference: Object, path: str, field: str, causes: Causes) -> None:
    """Check a reference to a key of an object, in `field` below `path`."""
    name: str = reference.get("name", "")
    key: str = reference["key"]
    if not is_dns_subdomain(name):
        causes.invalid_each(f"{path}.{field}.name", name, dns_subdomain(name))
    if not key:
        causes.required(f"{path}.{field}.key")
    elif not is_usual_config_key(key):
        causes.invalid_each(f"{path}.{field}.key", key, config_key_errors(key))


def check_env_from(sources: list[Object], path: str, causes: Causes) -> None:
    for index, source in enumerate(sources):
        source_path = f"{path}[{index}]"
        prefix = source.get("prefix", "")
        if prefix:
            causes.invalid_each(f"{source_path}.prefix", prefix, env_name_errors(prefix))
        count = 0
        for name in ("configMapRef", "secretRef"):
            if source.get(name) is not None:
                _check_object_name(source[name].get("name", ""), f"{source_path}.{name}", causes)
                count += 1
        if not count:
            causes.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            causes.invalid(path, "", MORE_THAN_ONE)


def _check_object_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(f"{path}.name")
    else:
        # A trailing dash is accepted, as in the prefix of a generated name.
        stem = name[:-1] + "a" if len(name) > 1 and name[-1] == "-" else name
        causes.invalid_each(f"{path}.name", name, dns_subdomain(stem))
