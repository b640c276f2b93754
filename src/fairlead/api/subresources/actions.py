"""Creates that act or compute and store no object of their own: bindings, evictions, reviews and
token requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.api.answers import Answer, Verb, value_answer
from fairlead.api.parameters import write_options
from fairlead.api.representation import object_answer
from fairlead.api.request import Request
from fairlead.api.verbs import read_object
from fairlead.base.errors import STATUS_HEAD
from fairlead.base.waiting import result_of
from fairlead.operations.access_reviews import review_access, review_rules, review_self
from fairlead.operations.api import Api, Object
from fairlead.operations.binding import bind
from fairlead.operations.eviction import evict
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.tokens import request_token, review_token

_CREATED = {**STATUS_HEAD, "status": "Success", "code": 201}
_FORMER_EVICTION = "policy/v1beta1"  # the same type in the previous version


async def create_binding(api: Api, request: Request, operation: Operation) -> Answer:
    options = write_options(api, request, "CreateOptions")
    operation.manager = options.manager
    binding = await result_of(read_object(api, request, operation, options.validation))
    await bind(api, operation, binding, options)
    return value_answer(request, 201, _CREATED, api.resources)


async def create_eviction(api: Api, request: Request, operation: Operation) -> Answer:
    options = write_options(api, request, "CreateOptions")
    eviction = await result_of(
        read_object(api, request, operation, options.validation, former=_FORMER_EVICTION)
    )
    await evict(api, operation, eviction, options)
    return value_answer(request, 201, _CREATED, api.resources)


# Access reviews, token reviews and token requests

Review = Callable[[Api, Operation, Object, WriteOptions], Awaitable[Object]]


def _create_handler(review: Review) -> Verb:
    async def create(api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        options = write_options(api, request, "CreateOptions")
        value = await result_of(read_object(api, request, operation, options.validation))
        value = await review(api, operation, value, options)
        api_version = api.resources.api_version_of(resource.body_version)
        document = {"kind": resource.kind, "apiVersion": api_version, **value}
        return object_answer(api.resources, request, resource, document, 201)

    return create


create_token_review = _create_handler(review_token)
create_access_review = _create_handler(review_access)
create_self_review = _create_handler(review_self)
create_rules_review = _create_handler(review_rules)
create_token = _create_handler(request_token)
