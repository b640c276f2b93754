"""SubjectAccessReviews and SelfSubjectRulesReview."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.admission.plugin import CREATE
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes, of_path
from fairlead.base.errors import ResourceRef, invalid
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.managed_fields import set_entries, tracked_unstored
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.resources.authorization.reviews import (
    check_local_subject_access_review,
    check_self_subject_access_review,
    check_self_subject_rules_review,
    check_subject_access_review,
)
from fairlead.resources.causes import Causes

Check = Callable[[Object, Causes], None]


async def review_access(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Object:
    """Authorize the described request; returns the review with its status. Serves three kinds."""
    check, subject = _KINDS[operation.resource.name]
    await _admit(api, operation, value, options, check)
    spec = value["spec"]
    decision = await api.authorizer.authorize(_attributes(spec, subject(spec, operation.user)))
    status: Object = {"allowed": decision.allowed}
    if decision.denied:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if decision.error:
        status["evaluationError"] = decision.error
    value["status"] = status
    return value


async def review_rules(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Object:
    """The user's rules in a namespace. The spec is not repeated in the response."""
    await _admit(api, operation, value, options, check_self_subject_rules_review)
    rules = api.authorizer.rules_for(operation.user, value["spec"]["namespace"])
    status: Object = {
        "resourceRules": rules.resource_rules,
        "nonResourceRules": rules.path_rules,
        "incomplete": rules.incomplete,
    }
    if rules.error:
        status["evaluationError"] = rules.error
    return {"metadata": {"creationTimestamp": None}, "spec": {}, "status": status}


async def _admit(
    api: Api, operation: Operation, value: Object, options: WriteOptions, check: Check
) -> None:
    """Run a review through the steps of a create except for storing it."""
    metadata = value["metadata"]
    write_pipeline.set_namespace(operation, metadata)
    set_entries(metadata, tracked_unstored(api, operation.resource, value, options))
    context = api.context(operation, options.dry_run)
    name = metadata.get("name", "")
    attributes = write_pipeline.attributes(operation, CREATE, value, None, context, name, options)
    await api.admission.admit(attributes)
    causes = Causes()
    check(value, causes)
    if causes:
        raise invalid(ResourceRef(operation.resource.group, ""), causes)
    await api.admission.validate(attributes)


def _named_user(spec: Object, user: User) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _own_user(spec: Object, user: User) -> User:
    return user


def _attributes(spec: Object, user: User) -> Attributes:
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        path = spec["nonResourceAttributes"]
        return of_path(user, path.get("verb", ""), path.get("path", ""))
    return Attributes(
        user,
        attributes.get("verb", ""),
        attributes.get("group", ""),
        attributes.get("version") or "*",
        attributes.get("resource", ""),
        attributes.get("subresource", ""),
        attributes.get("namespace", ""),
        attributes.get("name", ""),
    )


# The function returns the user to check: the one in the review or the one of the request.
_KINDS: dict[str, tuple[Check, Callable[[Object, User], User]]] = {
    "subjectaccessreviews": (check_subject_access_review, _named_user),
    "localsubjectaccessreviews": (check_local_subject_access_review, _named_user),
    "selfsubjectaccessreviews": (check_self_subject_access_review, _own_user),
}
