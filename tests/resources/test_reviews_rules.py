"""Rules of the kinds that are not stored."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import invalid

from fairlead.base.errors import StatusError
from fairlead.resources import authentication, authorization
from fairlead.resources.causes import Causes

POD = {"verb": "get", "resource": "pods", "namespace": "ns"}
PATH = {"path": "/api", "verb": "get"}
SHOWN = 'authorization.NonResourceAttributes{Path:"/api", Verb:"get"}'
RESOURCE = "spec.resourceAttributes"
OTHER = "spec.nonResourceAttributes"
NEITHER = invalid(
    RESOURCE,
    '"null"',
    "exactly one of nonResourceAttributes or resourceAttributes must be specified",
)
BOTH = invalid(OTHER, SHOWN, "cannot be specified in combination with resourceAttributes")
NOBODY = invalid("spec.user", '""', "at least one of user or group must be specified")


def _causes(check: Any, spec: dict[str, Any], **metadata: Any) -> list[tuple[str, str, str]]:
    causes = Causes()
    check({"metadata": metadata, "spec": spec}, causes)
    return [(c.field, c.reason.removeprefix("FieldValue"), c.message) for c in causes]


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"user": "u", "resourceAttributes": POD}, []),
        ({"groups": ["g"], "nonResourceAttributes": PATH}, []),
        ({}, [NEITHER, NOBODY]),
        ({"user": "u", "resourceAttributes": POD, "nonResourceAttributes": PATH}, [BOTH]),
    ],
)
def test_subject_access_review(spec: dict[str, Any], causes: list[Any]) -> None:
    assert _causes(authorization.check_subject_access_review, spec) == causes


def test_a_review_has_no_metadata() -> None:
    check = authorization.check_subject_access_review
    spec = {"user": "u", "resourceAttributes": POD}
    ((field, reason, message),) = _causes(check, spec, name="x", managedFields=[{}])
    assert (field, reason) == ("metadata", "Invalid")
    assert message.startswith('Invalid value: v1.ObjectMeta{Name:"x", GenerateName:""')
    assert message.endswith(": must be empty")
    assert _causes(check, spec, managedFields=[{}], creationTimestamp=None) == []


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"resourceAttributes": POD}, []),
        ({}, [NEITHER]),
        ({"resourceAttributes": POD, "nonResourceAttributes": PATH}, [BOTH]),
    ],
)
def test_self_subject_access_review(spec: dict[str, Any], causes: list[Any]) -> None:
    assert _causes(authorization.check_self_subject_access_review, spec) == causes


NAMESPACE = f"{RESOURCE}.namespace"


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"resourceAttributes": POD}, []),
        (
            {"resourceAttributes": {**POD, "namespace": "x"}},
            [invalid(NAMESPACE, '"x"', "must match metadata.namespace")],
        ),
        (
            {"nonResourceAttributes": PATH},
            [invalid(OTHER, SHOWN, "disallowed on this kind of request")],
        ),
    ],
)
def test_local_subject_access_review(spec: dict[str, Any], causes: list[Any]) -> None:
    check = authorization.check_local_subject_access_review
    assert _causes(check, {"user": "u", **spec}, namespace="ns") == causes
    ((field, _, message),) = _causes(
        check, {"user": "u", "resourceAttributes": POD}, namespace="ns", name="x"
    )
    assert field == "metadata"
    assert message.endswith(": must be empty except for namespace")


@pytest.mark.parametrize(
    ("seconds", "details"),
    [
        (600, []),
        (2**32, []),
        (599, ["may not specify a duration less than 10 minutes"]),
        (2**32 + 1, ["may not specify a duration larger than 2^32 seconds"]),
    ],
)
def test_token_request(seconds: int, details: list[str]) -> None:
    rows = _causes(authentication.check_token_request, {"expirationSeconds": seconds})
    assert rows == [invalid("spec.expirationSeconds", str(seconds), text) for text in details]


@pytest.mark.parametrize(
    ("check", "spec", "message"),
    [
        (
            authentication.check_token_review,
            {"token": "t"},
            "token is required for TokenReview in authentication",
        ),
        (
            authorization.check_self_subject_rules_review,
            {"namespace": "ns"},
            "no namespace on request",
        ),
    ],
)
def test_reviews_that_cannot_be_answered(check: Any, spec: dict[str, Any], message: str) -> None:
    assert _causes(check, spec) == []
    with pytest.raises(StatusError) as refusal:
        _causes(check, {})
    assert (refusal.value.code, refusal.value.message) == (400, message)
