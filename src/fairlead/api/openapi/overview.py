"""The discovery paths in OpenAPI documents."""

from __future__ import annotations

from fairlead.api import discovery
from fairlead.api.openapi.names import Names
from fairlead.api.openapi.operations import OK, TEXT, Operation, Path, base_path
from fairlead.api.openapi.schemas import META, Schema, Schemas
from fairlead.api.openapi.tables import is_exact
from fairlead.resources.registry import GroupVersion, Resources

# The documents of the issuer of service account tokens: operation, tag and media type.
_ISSUER = {
    ".well-known/openid-configuration": (
        "getServiceAccountIssuerOpenIDConfiguration",
        "WellKnown",
        "application/json",
    ),
    "openid/v1/jwks": (
        "getServiceAccountIssuerOpenIDKeyset",
        "openid",
        "application/jwk-set+json",
    ),
}
ISSUER_PATHS = tuple(_ISSUER)


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


def describes_group(resources: Resources, group: str) -> bool:
    """Whether documents describe a group apart from its versions. Later releases do not if its
    resources are custom."""
    return not (is_exact(resources.release) and resources.is_custom(group))


def of_groups(names: Names, schemas: Schemas) -> Path:
    return _path("/apis/", "getAPIVersions", "apis", schemas.of_type(META, "APIGroupList"))


def of_release(names: Names, schemas: Schemas) -> Path:
    full = names.shared("Info")
    fields = list(discovery.version(schemas.release, schemas.release.advertised))
    required = [name for name in fields if name not in discovery.EMULATION]
    given: Schema = {"default": ""} if schemas.flavour.choices else {}
    exact = is_exact(schemas.release)
    schemas.by_name[full] = {
        "type": "object",
        "properties": {
            name: {"type": "string", **(given if exact and name in required else {})}
            for name in sorted(fields)
        },
        "required": required if exact else sorted(required),
    }
    path = _path("/version/", "getCodeVersion", "version", schemas.link(full))
    if exact:
        path.operations[0].produces = "application/json"
    return path


def _path(path: str, name: str, tag: str, answer: Schema) -> Path:
    operation = Operation("get", name, tag, {OK: answer}, is_overview=True)
    return Path(path, [operation], pretty=False)


def of_issuer(path: str) -> Path:
    """The document at a path that describes the issuer of service account tokens."""
    name, tag, media_type = _ISSUER[path]
    operation = Operation("get", name, tag, {OK: TEXT}, produces=media_type, consumes=False)
    return Path(f"/{path}/", [operation], pretty=False)
