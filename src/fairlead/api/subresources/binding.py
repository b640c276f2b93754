"""POST to `pods/<name>/binding`, or to `bindings`."""

from __future__ import annotations

from fairlead.api.answers import Answer, value_answer
from fairlead.api.parameters import write_options
from fairlead.api.request import Request
from fairlead.api.verbs import read_object
from fairlead.base.errors import STATUS_HEAD
from fairlead.operations.api import Api
from fairlead.operations.binding import bind
from fairlead.operations.operation import Operation

CREATED = {**STATUS_HEAD, "status": "Success", "code": 201}


async def create_binding(api: Api, request: Request, operation: Operation) -> Answer:
    options = write_options(api.dialect, request, "CreateOptions")
    operation.manager = options.manager
    binding = await read_object(api, request, operation, options.validation)
    await bind(api, operation, binding, options)
    return value_answer(request, 201, CREATED, api.resources)
