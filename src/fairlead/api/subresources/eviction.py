"""POST to `pods/<name>/eviction`."""

from __future__ import annotations

from fairlead.api.answers import Answer, value_answer
from fairlead.api.parameters import write_options
from fairlead.api.request import Request
from fairlead.api.subresources.binding import CREATED
from fairlead.api.verbs import read_object
from fairlead.operations.api import Api
from fairlead.operations.eviction import evict
from fairlead.operations.operation import Operation

_FORMER = "policy/v1beta1"  # the same type in the previous version


async def create_eviction(api: Api, request: Request, operation: Operation) -> Answer:
    options = write_options(api.dialect, request, "CreateOptions")
    eviction = await read_object(api, request, operation, options.validation, former=_FORMER)
    await evict(api, operation, eviction, options)
    return value_answer(request, 201, CREATED, api.resources)
