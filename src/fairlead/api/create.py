"""POST to a collection."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.body import read_object
from fairlead.api.parameters import write_options
from fairlead.api.representation import item_answer
from fairlead.api.request import Request
from fairlead.operations.api import Api
from fairlead.operations.create import create
from fairlead.operations.operation import Operation
from fairlead.resources.conversion import to_stored


async def answer_create(api: Api, request: Request, operation: Operation) -> Answer:
    options = write_options(api.dialect, request, "CreateOptions")
    operation.manager = options.manager
    value = await read_object(api, request, operation, options.validation)
    value = to_stored(operation.resource, value)
    version = await create(api, operation, value, options)
    return await item_answer(api, request, operation, version, 201)
