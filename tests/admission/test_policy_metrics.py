"""Metrics of policies and of match conditions, with the labels of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.namespaces import Space
from support.policies import CONFIG_MAPS, GROUP, Bound


@pytest.fixture
def policies(space_1_36: Space) -> Iterator[Bound]:
    bound = Bound(space_1_36)
    yield bound
    bound.end()


def counted(policies: Bound, metric: str, name: str) -> dict[str, float]:
    """The rows of a metric for a policy or webhook: its other labels' values, sorted by label."""
    rows: dict[str, float] = {}
    for line in policies.client.get("/metrics").text.splitlines():
        if line.startswith(f"{metric}{{") and f'"{name}"' in line:
            values = re.findall(r'"([^"]*)"', line)
            rows[" ".join(value for value in values if value != name)] = float(line.split()[-1])
    return rows


VALIDATING = "apiserver_validating_admission_policy_check"
MUTATING = "apiserver_mutating_admission_policy_check"
CONDITIONS = "apiserver_admission_match_condition"


def test_denials_are_counted_by_action(policies: Bound) -> None:
    binding = {"validationActions": ["Warn", "Audit"]}
    name = policies.validating(binding=binding)
    assert policies.write().status == 201
    expected = {"warn invalid_error": 1.0, "audit invalid_error": 1.0}
    assert counted(policies, f"{VALIDATING}_total", name) == expected
    assert counted(policies, f"{VALIDATING}_duration_seconds_count", name) == expected
    denying = policies.validating(validations=[{"expression": "object.data.a != 'x'"}])
    policies.write("held", data={"a": "y"})
    assert counted(policies, f"{VALIDATING}_total", denying) == {}
    policies.write("denied", data={"a": "x"})
    assert counted(policies, f"{VALIDATING}_total", denying) == {"deny invalid_error": 1.0}


def test_failures_that_are_ignored_are_counted_as_allowed(policies: Bound) -> None:
    validations = [{"expression": "object.nope == 1"}]
    name = policies.validating(validations=validations, failurePolicy="Ignore")
    assert policies.write().status == 201
    assert counted(policies, f"{VALIDATING}_total", name) == {"allow invalid_error": 1.0}


def test_mutations_are_counted_by_error(policies: Bound) -> None:
    name = policies.mutating(
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
        "Object{metadata: Object.metadata{labels: {'a': object.nope}}}",
        failurePolicy="Ignore",
    )
    policies.write()
    assert counted(policies, f"{MUTATING}_total", name) == {"no_error": 1.0, "invalid_error": 1.0}
    assert counted(policies, f"{MUTATING}_duration_seconds_count", name)["no_error"] == 1.0


def test_conditions_of_policies_that_fail_or_exclude_are_counted(policies: Bound) -> None:
    conditions = [
        {"name": "broken", "expression": "object.nope == 1"},
        {"name": "never", "expression": "false"},
    ]
    name = policies.validating(matchConditions=conditions)
    assert policies.write().status == 201
    row = {"policy CREATE validate": 1.0}
    assert counted(policies, f"{CONDITIONS}_evaluation_errors_total", name) == row
    assert counted(policies, f"{CONDITIONS}_evaluation_seconds_count", name) == row


def test_writes_that_conditions_keep_from_webhooks_are_counted(policies: Bound) -> None:
    name = f"{policies.space.name}.example.com"
    hook = {
        "name": name,
        "rules": [CONFIG_MAPS],
        "clientConfig": {"url": "https://127.0.0.1:1"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": policies.space.name}},
        "matchConditions": [{"name": "never", "expression": "false"}],
    }
    for kind, step in (("validating", "validate"), ("mutating", "admit")):
        path = f"{GROUP}/{kind}webhookconfigurations"
        body = {"metadata": {"name": policies.space.name}, "webhooks": [hook]}
        assert policies.client.post(path, body).status == 201
        assert policies.write(kind).status == 201
        rows = counted(policies, f"{CONDITIONS}_exclusions_total", name)
        assert rows[f"webhook CREATE {step}"] == 1.0
        policies.client.delete(f"{path}/{policies.space.name}")
