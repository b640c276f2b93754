"""Handlers of the verbs delete and deletecollection."""

from __future__ import annotations

from fairlead.api.answers import Answer, value_answer
from fairlead.api.list import objects_answer
from fairlead.api.parameters import delete_options, list_options, selection_of
from fairlead.api.representation import object_answer, read
from fairlead.api.request import Request
from fairlead.base import budget
from fairlead.base.errors import STATUS_HEAD, success
from fairlead.operations.api import Api
from fairlead.operations.delete import delete, delete_collection
from fairlead.operations.operation import Operation
from fairlead.operations.views import typed
from fairlead.resources.registry import from_stored


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
