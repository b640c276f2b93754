"""Creates that return a result and store nothing: access reviews, token reviews, token requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.api.answers import Answer, Verb
from fairlead.api.parameters import write_options
from fairlead.api.representation import object_answer
from fairlead.api.request import Request
from fairlead.api.verbs import read_object
from fairlead.operations.access_reviews import review_access, review_rules
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.tokens import request_token, review_token

Review = Callable[[Api, Operation, Object, WriteOptions], Awaitable[Object]]


def _create_handler(review: Review) -> Verb:
    async def create(api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        options = write_options(api.dialect, request, "CreateOptions")
        value = await read_object(api, request, operation, options.validation)
        value = await review(api, operation, value, options)
        api_version = api.resources.api_version_of(resource.body_version)
        document = {"kind": resource.kind, "apiVersion": api_version, **value}
        return object_answer(api.resources, request, resource, document, 201)

    return create


create_token_review = _create_handler(review_token)
create_access_review = _create_handler(review_access)
create_rules_review = _create_handler(review_rules)
create_token = _create_handler(request_token)
