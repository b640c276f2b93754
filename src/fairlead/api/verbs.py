"""GET of an item."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.representation import item_answer
from fairlead.api.request import Request
from fairlead.operations.api import Api
from fairlead.operations.get import get
from fairlead.operations.operation import Operation
from fairlead.operations.options import revision_of


async def answer_get(api: Api, request: Request, operation: Operation) -> Answer:
    revision = revision_of(request.parameter("resourceVersion")) if request.query else 0
    return await item_answer(api, request, operation, await get(api, operation, revision))
