"""The discovery paths in OpenAPI documents."""

from __future__ import annotations

from fairlead.api import discovery
from fairlead.api.openapi.names import Names
from fairlead.api.openapi.operations import OK, Operation, Path, base_path
from fairlead.api.openapi.schemas import META, Schema, Schemas
from fairlead.resources.registry import GroupVersion


def of_version(names: Names, schemas: Schemas, group_version: GroupVersion) -> Path:
    name = names.operation("get", group_version, "APIResources")
    answer = schemas.of_type(META, "APIResourceList")
    return _path(f"{base_path(group_version)}/", name, names.tag(group_version), answer)


def of_group(names: Names, schemas: Schemas, group: str) -> Path:
    if not group:
        answer = schemas.of_type(META, "APIVersions")
        return _path("/api/", "getCoreAPIVersions", "core", answer)
    name = names.group(group)
    answer = schemas.of_type(META, "APIGroup")
    return _path(f"/apis/{group}/", f"get{name}APIGroup", name[:1].lower() + name[1:], answer)


def of_groups(names: Names, schemas: Schemas) -> Path:
    return _path("/apis/", "getAPIVersions", "apis", schemas.of_type(META, "APIGroupList"))


def of_release(names: Names, schemas: Schemas) -> Path:
    full = names.shared("Info")
    fields = sorted(discovery.version(schemas.release, schemas.release.advertised))
    schemas.by_name[full] = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in fields},
        "required": [name for name in fields if name not in discovery.EMULATION],
    }
    return _path("/version/", "getCodeVersion", "version", schemas.link(full))


def _path(path: str, name: str, tag: str, answer: Schema) -> Path:
    return Path(path, [Operation("get", name, tag, {OK: answer})], pretty=False)
