"""Handlers of the verbs get, create, update, patch, delete and deletecollection."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from fairlead.api.answers import Answer, Outcome, value_answer
from fairlead.api.body import body_format, decode_body
from fairlead.api.list import objects_answer
from fairlead.api.parameters import delete_options, list_options, selection_of, write_options
from fairlead.api.patch import APPLY, check_patch_type, read_configuration, read_patch
from fairlead.api.representation import item_answer, object_answer, read
from fairlead.api.request import Request
from fairlead.base import budget
from fairlead.base.errors import STATUS_HEAD, success
from fairlead.operations.api import Api, Object
from fairlead.operations.apply import apply
from fairlead.operations.create import create
from fairlead.operations.delete import delete, delete_collection
from fairlead.operations.get import get, stored
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions, revision_of
from fairlead.operations.stored_versions import is_served_as_stored, to_requested
from fairlead.operations.update import check_exists, patch, update
from fairlead.operations.views import typed
from fairlead.resources.registry import from_stored, to_stored
from fairlead.storage.version import Version


def answer_get(api: Api, request: Request, operation: Operation) -> Outcome:
    revision = revision_of(request.parameter("resourceVersion")) if request.query else 0
    if revision:
        return _get_newer(api, request, operation, revision)
    version = stored(api, operation)
    if is_served_as_stored(operation.resource, version):
        return item_answer(api, request, operation, version)
    return _get_converted(api, request, operation, version)


async def _get_newer(
    api: Api, request: Request, operation: Operation, revision: int
) -> Answer | Awaitable[Answer]:
    return item_answer(api, request, operation, await get(api, operation, revision))


async def _get_converted(
    api: Api, request: Request, operation: Operation, version: Version
) -> Answer | Awaitable[Answer]:
    version = await to_requested(operation.resource, version)
    return item_answer(api, request, operation, version)


# POST to a collection.


async def answer_create(
    api: Api, request: Request, operation: Operation
) -> Answer | Awaitable[Answer]:
    options = write_options(api, request, "CreateOptions")
    operation.manager = options.manager
    value = await read_object(api, request, operation, options.validation)
    value = to_stored(operation.resource, value)
    version = await create(api, operation, value, options)
    return item_answer(api, request, operation, version, 201)


async def read_object(
    api: Api, request: Request, operation: Operation, validation: str, former: str = ""
) -> Object:
    """Read and decode the object in a request body, see `decode_body`."""
    media_type = body_format(request, api.resources)
    raw = operation.sent = request.body
    operation.note_stored_size()
    return await budget.run(
        operation.size, decode_body, api, operation, raw, media_type, validation, former
    )


# PUT of an item.


async def answer_update(
    api: Api, request: Request, operation: Operation
) -> Answer | Awaitable[Answer]:
    media_type = body_format(request, api.resources)
    raw = operation.sent = request.body
    options = write_options(api, request, "UpdateOptions")
    operation.manager = options.manager

    def decode() -> Object:
        return decode_body(api, operation, raw, media_type, options.validation)

    decoded = [await budget.run(len(raw), decode)]

    def sent() -> Object:
        return decoded.pop() if decoded else decode()

    outcome = await update(api, operation, sent, options)
    code = 201 if outcome.created else 200
    return item_answer(api, request, operation, outcome.version, code)


# DELETE of an item and of a collection.


async def answer_delete(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    raw = operation.sent = request.body
    options = delete_options(api, request, raw)
    deleted = await delete(api, operation, options)
    if deleted.is_removed and not resource.returns_deleted:
        done = success(operation.ref, deleted.value["metadata"]["uid"])
        return value_answer(request, 200, done, api.resources)
    shown = typed(resource, from_stored(resource, deleted.value))
    code = 202 if options.cascades and not deleted.is_removed else 200
    size = operation.stored_size
    return await budget.run(size, object_answer, api.resources, request, resource, shown, code)


async def answer_delete_collection(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    raw = operation.sent = request.body
    options = delete_options(api, request, raw)
    listing = list_options(api, request, api.gates["APIListChunking"])
    selection = selection_of(request, resource)
    deleted = await delete_collection(api, operation, options, listing, selection)
    if api.dialect.deletecollection_status:
        details = resource.ref().details()
        done = {**STATUS_HEAD, "status": "Success", "details": details}
        return value_answer(request, 200, done, api.resources)
    values = (read(resource, version) for version in deleted.versions)
    return await objects_answer(api, request, resource, values, deleted.metadata())


# PATCH of an item.


async def answer_patch(
    api: Api, request: Request, operation: Operation
) -> Answer | Awaitable[Answer]:
    media_type = check_patch_type(request, operation.resource)
    raw = operation.sent = request.body
    is_apply = media_type == APPLY
    options = write_options(api, request, "PatchOptions", apply=is_apply)
    operation.manager = options.manager
    if is_apply:
        return await _answer_apply(api, request, operation, raw, options)
    await check_exists(api, operation)
    reading = partial(read_patch, drops_directives=api.gates["DroppedPatchDirectives"])
    read = await budget.run(len(raw), reading, operation.resource, media_type, raw)
    version = await patch(api, operation, read, options)
    return item_answer(api, request, operation, version)


async def _answer_apply(
    api: Api, request: Request, operation: Operation, raw: bytes, options: WriteOptions
) -> Answer | Awaitable[Answer]:
    known = await api.known_applies.find(api, operation, raw, options)
    if known is not None:
        return item_answer(api, request, operation, known)
    config = await budget.run(len(raw), read_configuration, operation, raw, options)
    before = api.known_applies.before(api, operation)
    outcome = await apply(api, operation, config, options)
    api.known_applies.keep(api, operation, raw, options, before)
    code = 201 if outcome.created else 200
    return item_answer(api, request, operation, outcome.version, code)
