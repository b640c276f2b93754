"""PUT of an item."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.body import body_format, decode_body
from fairlead.api.parameters import write_options
from fairlead.api.representation import item_answer
from fairlead.api.request import Request
from fairlead.base import budget
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.update import update


async def answer_update(api: Api, request: Request, operation: Operation) -> Answer:
    media_type = body_format(request, api.resources)
    raw = operation.sent = await request.body()
    options = write_options(api.dialect, request, "UpdateOptions")
    operation.manager = options.manager

    def decode() -> Object:
        return decode_body(api, operation, raw, media_type, options.validation)

    decoded = [await budget.run(len(raw), decode)]

    def sent() -> Object:
        return decoded.pop() if decoded else decode()

    outcome = await update(api, operation, sent, options)
    code = 201 if outcome.created else 200
    return await item_answer(api, request, operation, outcome.version, code)
