"""What a write through a path is about: the object itself, or a view of it such as its scale."""

from __future__ import annotations

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.representing import item_answer, typed
from fairlead.endpoints.request import Request
from fairlead.kinds.conversion import from_stored, to_stored
from fairlead.kinds.resources import Resource
from fairlead.schema.model import Struct
from fairlead.storage.entry import Entry


class Subject:
    """The whole object, in the version of the resource. `kept` is the resource that is stored."""

    def __init__(self, api: Api, resource: Resource) -> None:
        self._api = api
        self.resource = resource
        self.kept = resource.parent or resource

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def api_version(self) -> str:
        return self.kept.api_version

    @property
    def struct(self) -> Struct:
        return self.resource.struct

    def read(self, stored: Object) -> Object:
        """The document that clients see; the stored object is not changed."""
        if self.kept.is_stored_here:
            return typed(self.kept, stored)
        return typed(self.kept, from_stored(self.kept, stored))

    def write(self, stored: Object, value: Object) -> Object:
        """The stored object that a decoded document asks for."""
        return to_stored(self.kept, value)

    def answer(self, request: Request, entry: Entry, code: int = 200) -> Answer:
        return item_answer(self._api.resources, request, self.kept, entry, code)


def subject_of(api: Api, resource: Resource) -> Subject:
    return Subject(api, resource)
