"""Builds whole OpenAPI documents as values."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import chain
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

# Builds a document, in steps: that of thousands of custom resources takes seconds.
Steps = Generator[None, None, dict[str, Any]]


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
        self._texts.load_large_tables()

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

    def version(self, group_version: GroupVersion) -> Steps:
        """The OpenAPI 3 document of a group-version."""
        schemas, operations = self._parts(V3, group_version)
        about = self._about_version(schemas, group_version)
        document = yield from self._v3(schemas, chain(about, operations.paths(group_version)))
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

    def group(self, group: str) -> Steps:
        schemas, _ = self._parts(V3)
        return self._v3(schemas, [overview.of_group(self._names, schemas, group)])

    def groups(self) -> Steps:
        schemas, _ = self._parts(V3)
        return self._v3(schemas, [overview.of_groups(self._names, schemas)])

    def release(self) -> Steps:
        schemas, _ = self._parts(V3)
        return self._v3(schemas, [overview.of_release(self._names, schemas)])

    def issuer(self, path: str) -> Steps:
        schemas, _ = self._parts(V3)
        document = yield from self._v3(schemas, [overview.of_issuer(path)])
        del document["components"]["schemas"]
        return document

    def _v3(self, schemas: Schemas, paths: Iterable[Path]) -> Steps:
        writer = WriterV3(self._resources.dialect, self._resources.release, self._names)
        path_objects = yield from _path_objects(writer, paths)
        yield from schemas.finish()
        return {
            "openapi": "3.0.0",
            **self.head(),
            "paths": path_objects,
            "components": {
                "schemas": dict(sorted(schemas.by_name.items())),
                "securitySchemes": _SECURITY,
            },
        }

    def swagger(self) -> Steps:
        """The OpenAPI 2 document, which covers everything."""
        writer = WriterV2(self._resources.dialect, self._resources.release, self._names)
        schemas, operations = self._parts(V2)
        path_objects = yield from _path_objects(writer, self._about(schemas))
        for group_version in list(self._resources.group_versions()):
            about = [
                *self._about_group(schemas, group_version.group),
                *self._about_version(schemas, group_version),
            ]
            paths = chain(about, operations.paths(group_version))
            path_objects.update((yield from _path_objects(writer, paths)))
            yield from schemas.finish()
        shared = writer.shared
        return {
            "swagger": "2.0",
            **self.head(),
            "paths": dict(sorted(path_objects.items())),
            "definitions": dict(sorted(schemas.by_name.items())),
            **({"parameters": dict(sorted(shared.items()))} if shared else {}),
            "securityDefinitions": _SECURITY,
            "security": [{_BEARER: []}],
        }

    def _about(self, schemas: Schemas) -> list[Path]:
        """The paths outside of any group."""
        names = self._names
        paths = [overview.of_groups(names, schemas), overview.of_release(names, schemas)]
        if self._is_exact:
            paths += map(overview.of_issuer, overview.ISSUER_PATHS)
        return paths

    def _about_group(self, schemas: Schemas, group: str) -> list[Path]:
        if not overview.describes_group(self._resources, group):
            return []
        return [overview.of_group(self._names, schemas, group)]

    def _about_version(self, schemas: Schemas, group_version: GroupVersion) -> list[Path]:
        if self._is_brief(group_version):
            return []
        return [overview.of_version(self._names, schemas, group_version)]


def _path_objects(writer: Writer, paths: Iterable[Path]) -> Steps:
    objects = {}
    for path in paths:
        objects[path.path] = writer.path(path)
        yield
    return objects
