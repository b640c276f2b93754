"""Validation of volumes of files: secrets, config maps, pod fields, tokens; alone or projected."""

from __future__ import annotations

from typing import Final

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.volumes.paths import file_mode, file_path
from fairlead.resources.core.volumes.references import (
    check_field_reference,
    check_resource_reference,
)
from fairlead.resources.core.volumes.sources import Check

FIELDS_IN_FILES: Final[tuple[str, ...]] = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
MIN_TOKEN_SECONDS, MAX_TOKEN_SECONDS = 10 * 60, 2**32
MORE_THAN_ONE = "may not specify more than 1 volume type"


def check_item(item: Object, path: str, causes: Causes) -> None:
    """Check a key and its file."""
    if not item["key"]:
        causes.required(f"{path}.key")
    if not item["path"]:
        causes.required(f"{path}.path")
    file_path(item["path"], f"{path}.path", causes)
    file_mode(item.get("mode"), f"{path}.mode", causes)


def keyed_files(name_field: str) -> Check:
    """The check of a volume with a file for each key of the object that `name_field` names."""

    def check(source: Object, path: str, causes: Causes, context: Context) -> None:
        if not source.get(name_field):
            causes.required(f"{path}.{name_field}")
        file_mode(source.get("defaultMode"), f"{path}.defaultMode", causes)
        for index, item in enumerate(source.get("items") or ()):
            check_item(item, f"{path}.items[{index}]", causes)

    return check


def check_pod_file(file: Object, path: str, causes: Causes) -> None:
    """Check a field or resource of the pod and its file. The path is the volume's: the reference
    does not report which file is wrong."""
    if not file["path"]:
        causes.required(f"{path}.path")
    file_path(file["path"], f"{path}.path", causes)
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        check_field_reference(field, FIELDS_IN_FILES, path, causes)
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            causes.invalid(path, "resource", detail)
    elif resource is not None:
        check_resource_reference(resource, f"{path}.resourceFieldRef", causes, in_volume=True)
    else:
        causes.required(path, "one of fieldRef and resourceFieldRef is required")
    file_mode(file.get("mode"), f"{path}.mode", causes)


def check_downward_api(source: Object, path: str, causes: Causes, context: Context) -> None:
    file_mode(source.get("defaultMode"), f"{path}.defaultMode", causes)
    for file in source.get("items") or ():
        check_pod_file(file, path, causes)


def check_projected(source: Object, path: str, causes: Causes, context: Context) -> None:
    file_mode(source.get("defaultMode"), f"{path}.defaultMode", causes)
    files: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        part_path = f"{path}.sources[{index}]"
        names = [name for name in _PROJECTIONS if part.get(name) is not None]
        for name in names:
            _PROJECTIONS[name](part[name], path, f"{part_path}.{name}", files, causes)
        if len(names) > 1:
            causes.forbidden(part_path, MORE_THAN_ONE)


def _take(file: str, shown: str, path: str, files: set[str], causes: Causes) -> None:
    """Record a file of the volume; each may come from one source only."""
    if file in files:
        causes.invalid(path, shown, "conflicting duplicate paths")
    elif file:
        files.add(file)


def _check_keys(part: Object, volume_path: str, path: str, files: set[str], causes: Causes) -> None:
    name = part.get("name", "")
    if not name:
        causes.required(f"{path}.name")
    for index, item in enumerate(part.get("items") or ()):
        check_item(item, f"{path}.items[{index}]", causes)
        _take(item["path"], name, volume_path, files, causes)


def _check_fields(
    part: Object, volume_path: str, path: str, files: set[str], causes: Causes
) -> None:
    for file in part.get("items") or ():
        check_pod_file(file, path, causes)
        _take(file["path"], file["path"], volume_path, files, causes)


def _check_token(
    part: Object, volume_path: str, path: str, files: set[str], causes: Causes
) -> None:
    seconds = part.get("expirationSeconds", 3600)
    if seconds < MIN_TOKEN_SECONDS:
        detail = "may not specify a duration less than 10 minutes"
        causes.invalid(f"{path}.expirationSeconds", seconds, detail)
    if seconds > MAX_TOKEN_SECONDS:
        detail = "may not specify a duration larger than 2^32 seconds"
        causes.invalid(f"{path}.expirationSeconds", seconds, detail)
    if not part["path"]:
        causes.required(f"{volume_path}.path")


_PROJECTIONS = {
    "secret": _check_keys,
    "configMap": _check_keys,
    "downwardAPI": _check_fields,
    "serviceAccountToken": _check_token,
}
