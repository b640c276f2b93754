"""SubjectAccessReviews, SelfSubjectRulesReview and SelfSubjectReview."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.admission.plugin import CREATE
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes, of_path
from fairlead.base import clock
from fairlead.base.errors import ResourceRef, invalid
from fairlead.base.waiting import result_of
from fairlead.codec.types.times import format_time
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.managed_fields import set_entries, tracked_unstored
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.tokens import user_info
from fairlead.resources.authorization.reviews import (
    check_local_subject_access_review,
    check_self_subject_access_review,
    check_self_subject_rules_review,
    check_subject_access_review,
)
from fairlead.resources.causes import Causes, new_causes
from fairlead.storage.selection import Requirement, SelectorError, parse_fields, parse_labels

Check = Callable[[Object, Causes], None]


async def review_access(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Object:
    """Authorize the described request; returns the review with its status. Serves three kinds."""
    check, subject = _KINDS[operation.resource.name]
    await _admit(api, operation, value, options, check)
    spec = value["spec"]
    attributes = _attributes(spec, subject(spec, operation.user))
    remarks: list[str] = []
    if attributes.is_resource:
        attributes = _with_selectors(attributes, spec["resourceAttributes"], remarks)
    decision = await api.authorizer.authorize(attributes)
    status: Object = {"allowed": decision.allowed}
    if decision.denied:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    errors = [decision.error, *remarks] if decision.error else remarks
    if errors:
        status["evaluationError"] = "; ".join(errors)
    value["status"] = status
    return value


async def review_self(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Object:
    """The user of the request, as authentication and impersonation made it."""
    await _admit(api, operation, value, options, lambda value, causes: None)
    metadata = {"creationTimestamp": format_time(clock.now())}
    return {"metadata": metadata, "status": {"userInfo": user_info(operation.user)}}


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
    metadata = {} if api.gates["OmittedCreationTimestamps"] else {"creationTimestamp": None}
    return {"metadata": metadata, "spec": {}, "status": status}


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
    await result_of(api.admission.admit(attributes))
    causes = new_causes(api.gates)
    check(value, causes)
    if causes:
        raise invalid(ResourceRef(operation.resource.group, ""), causes)
    await result_of(api.admission.validate(attributes))


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


# The selectors of a review. Requirements that this release does not know are left out: they would
# only narrow the request.

_LABEL_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_FIELD_OPERATORS = {"In": "in", "NotIn": "notin"}


def _with_selectors(attributes: Attributes, given: Object, remarks: list[str]) -> Attributes:
    """Add the selectors of a review; the remarks say what is left out."""
    parts: dict[str, tuple[Requirement, ...]] = {}
    for name, part, parse, read in (
        ("fieldSelector", "fields", parse_fields, _field_requirement),
        ("labelSelector", "labels", parse_labels, _label_requirement),
    ):
        selector = given.get(name) or {}
        rules = selector.get("requirements") or ()
        requirements = [read(rule) for rule in rules]
        parts[part] = tuple(rule for rule in requirements if rule is not None)
        is_partial = len(parts[part]) < len(requirements)
        if not rules and (raw := selector.get("rawSelector")):
            try:
                parts[part] = parse(raw)
            except SelectorError:
                is_partial = True
        if is_partial:
            partially = "partially " if parts[part] else ""
            text = f"spec.resourceAttributes.{name} {partially}ignored due to parse error"
            remarks.append(text)
    return attributes._replace(fields=parts["fields"], labels=parts["labels"])


def _field_requirement(rule: Object) -> Requirement | None:
    operator, values = _FIELD_OPERATORS.get(rule["operator"]), rule.get("values") or ()
    if operator is None or len(values) != 1:
        return None
    return Requirement(rule["key"], operator, frozenset(values))


def _label_requirement(rule: Object) -> Requirement | None:
    operator = _LABEL_OPERATORS.get(rule["operator"])
    if operator is None:
        return None
    return Requirement(rule["key"], operator, frozenset(rule.get("values") or ()))


# The function returns the user to check: the one in the review or the one of the request.
_KINDS: dict[str, tuple[Check, Callable[[Object, User], User]]] = {
    "subjectaccessreviews": (check_subject_access_review, _named_user),
    "localsubjectaccessreviews": (check_local_subject_access_review, _named_user),
    "selfsubjectaccessreviews": (check_self_subject_access_review, _own_user),
}
