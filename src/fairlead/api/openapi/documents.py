"""Builds whole OpenAPI documents as values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.api.openapi import overview
from fairlead.api.openapi.knowledge import FindCustom
from fairlead.api.openapi.names import Names
from fairlead.api.openapi.operation_objects import Writer, WriterV2, WriterV3
from fairlead.api.openapi.operations import Operations, Path
from fairlead.api.openapi.schemas import V2, V3, Flavour, Schemas
from fairlead.api.openapi.tables import all_versions, is_exact
from fairlead.codec.types.descriptions import Texts
from fairlead.resources.registry import GroupVersion, Resources

_BEARER = "BearerToken"
_SECURITY = {_BEARER: {"type": "apiKey", "name": "authorization", "in": "header"}}


class Builder:
    """Builds documents of the resources served at the time of the call."""

    def __init__(
        self,
        resources: Resources,
        builtin: tuple[tuple[str, str], ...],
        find_custom: FindCustom,
        advertised: str = "",
    ) -> None:
        """`builtin` lists group and version of the built-in resources, `advertised` is the version
        in the documents."""
        release = resources.release
        self._advertised = advertised or release.advertised
        self._is_exact = is_exact(release)
        if self._is_exact:
            self._advertised = release.name
        self._resources = resources
        self._builtin = builtin
        self._find_custom = find_custom
        self._names = Names(resources.dialect)
        self._texts = Texts(resources.dialect)

    def read_texts(self) -> None:
        """Load the description texts in advance, as it takes a while. Thread-safe."""
        self._texts.read_long()

    def _sharing(self, document: GroupVersion | None) -> tuple[tuple[str, str], ...]:
        """Group and version of everything that has the types of all groups, in a document of one
        group-version or of all."""
        if not self._is_exact:
            return self._builtin
        of_custom = document is not None and self._is_brief(document)
        if document is not None and not of_custom:
            return tuple(dict.fromkeys((("", "v1"), (document.group, document.version))))
        group_name = self._resources.dialect.group_name
        versions = all_versions(self._resources.release, of_custom=of_custom)
        return tuple((group_name(group), version) for group, version in versions)

    def _parts(
        self, flavour: Flavour, document: GroupVersion | None = None
    ) -> tuple[Schemas, Operations]:
        served = {
            group_version.table_name: group_version
            for group_version in self._resources.group_versions()
        }
        types = self._resources.types
        sharing = self._sharing(document)
        schemas = Schemas(self._names, types, served, sharing, flavour, self._texts)
        return schemas, Operations(self._names, schemas, served, self._find_custom)

    def head(self) -> dict[str, Any]:
        return {"info": {"title": self._names.title, "version": self._advertised}}

    def version(self, group_version: GroupVersion) -> dict[str, Any]:
        """The OpenAPI 3 document of a group-version."""
        schemas, operations = self._parts(V3, group_version)
        paths = [*self.about_version(schemas, group_version), *operations.paths(group_version)]
        document = self._v3(schemas, paths)
        if self._is_brief(group_version):
            title = f"{self._names.title} CRD Swagger"
            document["info"] = {"title": title, "version": "v0.1.0"}
            del document["components"]["securitySchemes"]
        return document

    def _is_brief(self, group_version: GroupVersion) -> bool:
        """Whether a version is described as later releases describe custom resources, without its
        discovery."""
        kinds = map(self._find_custom, group_version.resources.values())
        return self._is_exact and all(kind is not None for kind in kinds)

    def group(self, group: str) -> dict[str, Any]:
        schemas, _ = self._parts(V3)
        return self._v3(schemas, [overview.of_group(self._names, schemas, group)])

    def groups(self) -> dict[str, Any]:
        schemas, _ = self._parts(V3)
        return self._v3(schemas, [overview.of_groups(self._names, schemas)])

    def release(self) -> dict[str, Any]:
        schemas, _ = self._parts(V3)
        return self._v3(schemas, [overview.of_release(self._names, schemas)])

    def issuer(self, path: str) -> dict[str, Any]:
        schemas, _ = self._parts(V3)
        document = self._v3(schemas, [overview.of_issuer(path)])
        del document["components"]["schemas"]
        return document

    def _v3(self, schemas: Schemas, paths: Iterable[Path]) -> dict[str, Any]:
        schemas.finish()
        writer = WriterV3(self._resources.dialect, self._resources.release, self._names)
        return {
            "openapi": "3.0.0",
            **self.head(),
            "paths": _path_objects(writer, paths),
            "components": {
                "schemas": dict(sorted(schemas.by_name.items())),
                "securitySchemes": _SECURITY,
            },
        }

    def swagger(self) -> Swagger:
        """An empty OpenAPI 2 document, to be filled with one group-version after another."""
        writer = WriterV2(self._resources.dialect, self._resources.release, self._names)
        return Swagger(self, *self._parts(V2), writer)

    def about(self, schemas: Schemas) -> list[Path]:
        """The paths outside of any group."""
        names = self._names
        paths = [overview.of_groups(names, schemas), overview.of_release(names, schemas)]
        if self._is_exact:
            paths += map(overview.of_issuer, overview.ISSUER_PATHS)
        return paths

    def about_group(self, schemas: Schemas, group: str) -> list[Path]:
        if not overview.describes_group(self._resources, group):
            return []
        return [overview.of_group(self._names, schemas, group)]

    def about_version(self, schemas: Schemas, group_version: GroupVersion) -> list[Path]:
        if self._is_brief(group_version):
            return []
        return [overview.of_version(self._names, schemas, group_version)]


class Swagger:
    """The OpenAPI 2 document, which covers everything. Building takes long, so it is done in
    steps."""

    def __init__(
        self, builder: Builder, schemas: Schemas, operations: Operations, writer: Writer
    ) -> None:
        self._builder = builder
        self._schemas = schemas
        self._operations = operations
        self._writer = writer
        self._paths = _path_objects(writer, builder.about(schemas))

    def add(self, group_version: GroupVersion) -> None:
        builder, schemas = self._builder, self._schemas
        about = [
            *builder.about_group(schemas, group_version.group),
            *builder.about_version(schemas, group_version),
        ]
        paths = [*about, *self._operations.paths(group_version)]
        self._paths.update(_path_objects(self._writer, paths))
        self._schemas.finish()

    def value(self) -> dict[str, Any]:
        shared = self._writer.shared
        return {
            "swagger": "2.0",
            **self._builder.head(),
            "paths": dict(sorted(self._paths.items())),
            "definitions": dict(sorted(self._schemas.by_name.items())),
            **({"parameters": dict(sorted(shared.items()))} if shared else {}),
            "securityDefinitions": _SECURITY,
            "security": [{_BEARER: []}],
        }


def _path_objects(writer: Writer, paths: Iterable[Path]) -> dict[str, Any]:
    return {path.path: writer.path(path) for path in paths}
