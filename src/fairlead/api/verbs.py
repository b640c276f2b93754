"""Handlers of the verbs get, create, update and patch."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.body import ObjectBody, body_format
from fairlead.api.parameters import write_options
from fairlead.api.patch import APPLY, check_patch_type, read_configuration, read_patch
from fairlead.api.representation import item_answer
from fairlead.api.request import Request
from fairlead.base import budget
from fairlead.base.deferred import Outcome, then
from fairlead.operations.api import Api, Object
from fairlead.operations.apply import apply
from fairlead.operations.create import create
from fairlead.operations.get import get, stored
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions, revision_of
from fairlead.operations.patch import Patch
from fairlead.operations.stored_versions import is_served_as_stored, to_requested
from fairlead.operations.update import check_exists, patch, update
from fairlead.resources.registry import to_stored
from fairlead.storage.version import Version


class _ObjectRequest:
    """A request for one object. The methods are its steps (nested functions would form reference
    cycles)."""

    def __init__(self, api: Api, request: Request, operation: Operation) -> None:
        self.api = api
        self.request = request
        self.operation = operation
        self.code = 200

    def show(self, version: Version) -> Outcome[Answer]:
        return item_answer(self.api, self.request, self.operation, version, self.code)

    def options(self, kind: str, *, apply: bool = False) -> WriteOptions:
        options = write_options(self.api, self.request, kind, apply=apply)
        self.operation.manager = options.manager
        return options


def answer_get(api: Api, request: Request, operation: Operation) -> Outcome[Answer]:
    revision = revision_of(request.parameter("resourceVersion")) if request.query else 0
    if revision:
        return then(get(api, operation, revision), _ObjectRequest(api, request, operation).show)
    version = stored(api, operation)
    if is_served_as_stored(operation.resource, version):
        return item_answer(api, request, operation, version)
    requested = to_requested(operation.resource, version)
    return then(requested, _ObjectRequest(api, request, operation).show)


# POST to a collection.


def answer_create(api: Api, request: Request, operation: Operation) -> Outcome[Answer]:
    return _Post(api, request, operation).answer()


class _Post(_ObjectRequest):
    _options: WriteOptions

    def answer(self) -> Outcome[Answer]:
        options = self._options = self.options("CreateOptions")
        self.code = 201
        decoded = read_object(self.api, self.request, self.operation, options.validation)
        return then(decoded, self._create)

    def _create(self, value: Object) -> Outcome[Answer]:
        operation = self.operation
        created = create(self.api, operation, to_stored(operation.resource, value), self._options)
        return then(created, self.show)


def read_object(
    api: Api, request: Request, operation: Operation, validation: str, former: str = ""
) -> Outcome[Object]:
    """Read and decode the object in a request body, see `ObjectBody`."""
    media_type = body_format(request, api.resources)
    raw = operation.sent = request.body
    operation.note_stored_size()
    body = ObjectBody(api, operation, raw, media_type, validation, former)
    return budget.start(operation.size, body.decode)


# PUT of an item.


def answer_update(api: Api, request: Request, operation: Operation) -> Outcome[Answer]:
    return _Put(api, request, operation).answer()


class _Put(_ObjectRequest):
    _options: WriteOptions
    _body: ObjectBody
    _value: Object | None

    def answer(self) -> Outcome[Answer]:
        media_type = body_format(self.request, self.api.resources)
        raw = self.operation.sent = self.request.body
        options = self._options = self.options("UpdateOptions")
        self._body = ObjectBody(self.api, self.operation, raw, media_type, options.validation)
        return then(budget.start(len(raw), self._body.decode), self._update)

    def _update(self, value: Object) -> Outcome[Answer]:
        self._value = value
        return then(update(self.api, self.operation, self._sent, self._options), self._show)

    def _sent(self) -> Object:
        """The decoded body: decoded again if it was taken before."""
        value, self._value = self._value, None
        return self._body.decode() if value is None else value

    def _show(self, version: Version) -> Outcome[Answer]:
        self.code = 201 if self.operation.creates else 200
        return self.show(version)


# PATCH of an item.


def answer_patch(api: Api, request: Request, operation: Operation) -> Outcome[Answer]:
    media_type = check_patch_type(request, operation.resource)
    raw = operation.sent = request.body
    if media_type == APPLY:
        return _Apply(api, request, operation, raw).answer()
    return _Patch(api, request, operation, raw, media_type).answer()


class _Patch(_ObjectRequest):
    def __init__(
        self, api: Api, request: Request, operation: Operation, raw: bytes, media_type: str
    ) -> None:
        super().__init__(api, request, operation)
        self._raw = raw
        self._media_type = media_type
        self._options = self.options("PatchOptions")

    def answer(self) -> Outcome[Answer]:
        return then(check_exists(self.api, self.operation), self._read)

    def _read(self, _: None) -> Outcome[Answer]:
        return then(budget.start(len(self._raw), self._parse), self._patch)

    def _parse(self) -> Patch:
        drops = self.api.gates["DroppedPatchDirectives"]
        resource = self.operation.resource
        return read_patch(resource, self._media_type, self._raw, drops_directives=drops)

    def _patch(self, parsed: Patch) -> Outcome[Answer]:
        return then(patch(self.api, self.operation, parsed, self._options), self.show)


class _Apply(_ObjectRequest):
    def __init__(self, api: Api, request: Request, operation: Operation, raw: bytes) -> None:
        super().__init__(api, request, operation)
        self._raw = raw
        self._options = self.options("PatchOptions", apply=True)
        self._before = api.known_applies.before(api, operation)

    def answer(self) -> Outcome[Answer]:
        known = self.api.known_applies.find(self.api, self.operation, self._raw, self._options)
        return then(known, self._read)

    def _read(self, known: Version | None) -> Outcome[Answer]:
        if known is not None:
            return self.show(known)
        return then(budget.start(len(self._raw), self._parse), self._apply)

    def _parse(self) -> Object:
        return read_configuration(self.operation, self._raw, self._options)

    def _apply(self, config: Object) -> Outcome[Answer]:
        return then(apply(self.api, self.operation, config, self._options), self._show)

    def _show(self, version: Version) -> Outcome[Answer]:
        api, operation = self.api, self.operation
        api.known_applies.keep(api, operation, self._raw, self._options, self._before)
        self.code = 201 if operation.creates else 200
        return self.show(version)
