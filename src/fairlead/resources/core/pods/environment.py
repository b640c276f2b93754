"""Validation of the environment of containers: variables and the sources of their values."""

from __future__ import annotations

from typing import Final

from fairlead.codec.types.names import dns_label, dns_subdomain, is_dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import containers_with_paths
from fairlead.resources.core.volumes.paths import no_backsteps
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
FIELDS_WITH_HOST_ADDRESSES: Final[tuple[str, ...]] = tuple(
    sorted((*FIELDS_IN_VARIABLES, "status.hostIPs"))
)
_KEY_SOURCES: Final[tuple[str, ...]] = ("configMapKeyRef", "secretKeyRef")
ONE_SOURCE = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
)
ONE_SOURCE_OR_FILE = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or"
    " `fileKeyRef`"
)
MORE_THAN_ONE = "may not have more than one field specified at a time"


def check_env(variables: list[Object], path: str, causes: Causes, context: Context) -> None:
    """Check the variables of the container at `path`."""
    for index, variable in enumerate(variables):
        name: str = variable["name"]
        if not is_usual_env_name(name):
            _check_name(name, f"{path}.env[{index}].name", causes, context)
        source: Object | None = variable.get("valueFrom")
        if source is not None:
            has_value = bool(variable.get("value"))
            source_path = f"{path}.env[{index}].valueFrom"
            _check_value_source(source, has_value, source_path, causes, context)


def _check_name(name: str, path: str, causes: Causes, context: Context) -> None:
    if not name:
        causes.required(path)
    else:
        causes.invalid_each(path, name, _name_errors(name, context))


RELAXED_NAME_ERROR = (
    "a valid environment variable name must consist only of printable ASCII characters other than"
    " '='"
)


def _name_errors(name: str, context: Context) -> list[str]:
    if context.gates["RelaxedEnvironmentVariableValidation"]:
        return _relaxed_name_errors(name)
    return env_name_errors(name)


def _relaxed_name_errors(name: str) -> list[str]:
    is_valid = name.isascii() and name.isprintable() and "=" not in name
    return [] if is_valid else [RELAXED_NAME_ERROR]


def _check_value_source(
    source: Object, has_value: bool, path: str, causes: Causes, context: Context
) -> None:
    count = 0
    if "fieldRef" in source:
        count += 1
        has_host_addresses = context.gates["PodHostIPs"]
        allowed = FIELDS_WITH_HOST_ADDRESSES if has_host_addresses else FIELDS_IN_VARIABLES
        check_field_reference(source["fieldRef"], allowed, path, causes)
    if "resourceFieldRef" in source:
        count += 1
        check_resource_reference(source["resourceFieldRef"], f"{path}.resourceFieldRef", causes)
    for name in _KEY_SOURCES:
        if name in source:
            count += 1
            _check_key(source[name], path, name, causes)
    if "fileKeyRef" in source:
        count += 1
        _check_file_key(source["fileKeyRef"], f"{path}.fileKeyRef", causes)
    if not count:
        detail = ONE_SOURCE_OR_FILE if context.gates["EnvFiles"] else ONE_SOURCE
        causes.invalid(path, "", detail)
    elif has_value:
        causes.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        causes.invalid(path, "", MORE_THAN_ONE)


def _check_file_key(reference: Object, path: str, causes: Causes) -> None:
    key, volume, file = reference["key"], reference["volumeName"], reference["path"]
    if not key:
        causes.required(f"{path}.key")
    else:
        causes.invalid_each(f"{path}.key", key, _relaxed_name_errors(key))
    if not volume:
        causes.required(f"{path}.volumeName")
    else:
        causes.invalid_each(f"{path}.volumeName", volume, dns_label(volume))
    if not file:
        causes.required(f"{path}.path")
    else:
        no_backsteps(file, f"{path}.path", causes)


def check_file_volumes(spec: Object, path: str, causes: Causes) -> None:
    """Check that variables read files of volumes that are directories of the pod itself."""
    volumes: dict[str, Object] | None = None
    for container, container_path in containers_with_paths(spec, path):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            if volumes is None:
                volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
            name = reference["volumeName"]
            field = f"{container_path}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                causes.not_found(field, name)
            elif "emptyDir" not in volumes[name]:
                causes.invalid(field, name, "referenced volume must be of type emptyDir")


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


def check_env_from(sources: list[Object], path: str, causes: Causes, context: Context) -> None:
    for index, source in enumerate(sources):
        source_path = f"{path}[{index}]"
        prefix = source.get("prefix", "")
        if prefix:
            causes.invalid_each(f"{source_path}.prefix", prefix, _name_errors(prefix, context))
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
