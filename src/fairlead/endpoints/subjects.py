"""What a write through a path is about: the object itself, or a view of it such as its scale."""

from __future__ import annotations

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.representing import item_answer, object_answer, typed
from fairlead.endpoints.request import Request
from fairlead.errors import bad_request, invalid
from fairlead.kinds.causes import Causes
from fairlead.kinds.conversion import from_stored, to_stored
from fairlead.kinds.resources import Resource
from fairlead.kinds.scale import check_scale, read_scale, write_scale
from fairlead.schema.model import Struct
from fairlead.storage.version import Version


class Subject:
    """The whole object, in the version of the resource. `kept` is the resource that is stored."""

    def __init__(self, api: Api, resource: Resource) -> None:
        self.api = api
        self.resource = resource
        self.kept = resource.parent or resource

    @property
    def api_version(self) -> str:
        return self.kept.api_version

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def struct(self) -> Struct:
        return self.resource.struct

    def read(self, stored: Object) -> Object:
        """The document that clients see; the stored object is not changed."""
        return typed(self.kept, from_stored(self.kept, stored))

    def write(self, stored: Object, value: Object) -> Object:
        """The stored object that a decoded document asks for."""
        return to_stored(self.kept, value)

    def configuration(self, config: Object) -> Object:
        """What an applied configuration says about the whole object."""
        return config

    def answer(self, request: Request, entry: Version, code: int = 200) -> Answer:
        return item_answer(self.api.resources, request, self.kept, entry, code)


class ScaleSubject(Subject):
    """The Scale of a workload. Its one field that can be written has the same path in the
    workload, so that owners need no translation."""

    @property
    def api_version(self) -> str:
        return self.api.resources.api_version_of(self.resource.body_version)

    def read(self, stored: Object) -> Object:
        scale = read_scale(self.kept.key, stored)
        return {"kind": self.kind, "apiVersion": self.api_version, **scale}

    def write(self, stored: Object, value: Object) -> Object:
        causes = Causes()
        check_scale(value, causes)
        if causes:
            group = self.api_version.rpartition("/")[0]
            name = value["metadata"].get("name", "")
            raise invalid(self.resource.named_ref(group, name), causes)
        return write_scale(self.kept.key, stored, value)

    def configuration(self, config: Object) -> Object:
        if config.get("apiVersion") != self.api_version:
            raise bad_request(
                "Incorrect version specified in apply patch. Specified patch version:"
                f" {config.get('apiVersion') or ''}, expected: {self.api_version}"
            )
        whole = {"apiVersion": self.kept.api_version, "kind": self.kept.kind}
        return {**config, **whole}

    def answer(self, request: Request, entry: Version, code: int = 200) -> Answer:
        scale = self.read(entry.object())
        return object_answer(self.api.resources, request, self.resource, scale, code)


def subject_of(api: Api, resource: Resource) -> Subject:
    return ScaleSubject(api, resource) if resource.is_scale else Subject(api, resource)
