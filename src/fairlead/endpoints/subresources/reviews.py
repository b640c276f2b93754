"""Access reviews: may somebody do something, and what may I do at all?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.admission.chain import CREATE
from fairlead.authentication.user import User
from fairlead.authorization.attributes import Attributes, of_path
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.decoding import body_format, read_object
from fairlead.endpoints.parameters import write_options
from fairlead.endpoints.representing import object_answer, typed
from fairlead.endpoints.request import Request
from fairlead.endpoints.tracking import set_entries, tracked
from fairlead.errors import ResourceRef, invalid
from fairlead.kinds.authorization.reviews import (
    check_local_subject_access_review,
    check_self_subject_access_review,
    check_self_subject_rules_review,
    check_subject_access_review,
)
from fairlead.kinds.causes import Causes

Check = Callable[[Object, Causes], None]
# Who is asked about: the user of the review and of the request.
Subject = Callable[[Object, User], User]


async def create_subject_access_review(api: Api, request: Request) -> Answer:
    return await _access_review(api, request, check_subject_access_review, _named_user)


async def create_local_subject_access_review(api: Api, request: Request) -> Answer:
    return await _access_review(api, request, check_local_subject_access_review, _named_user)


async def create_self_subject_access_review(api: Api, request: Request) -> Answer:
    return await _access_review(api, request, check_self_subject_access_review, _own_user)


async def create_self_subject_rules_review(api: Api, request: Request) -> Answer:
    """Answers with the rules alone; the spec is not repeated."""

    def check(value: Object) -> None:
        check_self_subject_rules_review(value, Causes())

    value = await _reviewed(api, request, check)
    found = api.authorizer.rules_for(request.user, value["spec"]["namespace"])
    status: Object = {
        "resourceRules": found.resource_rules,
        "nonResourceRules": found.path_rules,
        "incomplete": found.incomplete,
    }
    if found.error:
        status["evaluationError"] = found.error
    answer = {"metadata": {"creationTimestamp": None}, "spec": {}, "status": status}
    return _answer(api, request, answer)


async def _access_review(api: Api, request: Request, rules: Check, subject: Subject) -> Answer:
    resource = request.target.resource
    assert resource is not None

    def check(value: Object) -> None:
        causes = Causes()
        rules(value, causes)
        if causes:
            raise invalid(ResourceRef(resource.group, ""), causes)

    value = await _reviewed(api, request, check)
    spec = value["spec"]
    decision = await api.authorizer.authorize(_attributes(spec, subject(spec, request.user)))
    status: Object = {"allowed": decision.allowed}
    if decision.denied:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if decision.error:
        status["evaluationError"] = decision.error
    value["status"] = status
    return _answer(api, request, value)


async def _reviewed(api: Api, request: Request, check: Callable[[Object], None]) -> Object:
    """Take the review of a request through what every create goes through, up to storing it."""
    resource = request.target.resource
    assert resource is not None
    options = write_options(api.dialect, request, "CreateOptions")
    media_type = body_format(request, api.resources)
    raw = await request.body()
    value = await read_object(request, api.resources, resource, raw, media_type, options.validation)
    metadata = value["metadata"]
    writing.set_namespace(request, resource, metadata)
    set_entries(metadata, tracked(api, resource, None, value, options))
    context = api.context(request, options.dry_run)
    name = metadata.get("name", "")
    attributes = writing.attributes(api, request, CREATE, value, None, context, name)
    await api.admission.admit(attributes)
    check(value)
    await api.admission.validate(attributes)
    return value


def _named_user(spec: Object, user: User) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _own_user(spec: Object, user: User) -> User:
    return user


def _attributes(spec: Object, user: User) -> Attributes:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec["nonResourceAttributes"]
        return of_path(user, path.get("verb", ""), path.get("path", ""))
    return Attributes(
        user,
        asked.get("verb", ""),
        asked.get("group", ""),
        asked.get("version") or "*",
        asked.get("resource", ""),
        asked.get("subresource", ""),
        asked.get("namespace", ""),
        asked.get("name", ""),
    )


def _answer(api: Api, request: Request, value: Object) -> Answer:
    resource = request.target.resource
    assert resource is not None
    return object_answer(api.resources, request, resource, typed(resource, value), 201)


HANDLERS: dict[tuple[str, str], Callable[[Api, Request], Awaitable[Answer]]] = {
    (f"authorization/v1/{name}", "create"): handler
    for name, handler in {
        "subjectaccessreviews": create_subject_access_review,
        "localsubjectaccessreviews": create_local_subject_access_review,
        "selfsubjectaccessreviews": create_self_subject_access_review,
        "selfsubjectrulesreviews": create_self_subject_rules_review,
    }.items()
}
