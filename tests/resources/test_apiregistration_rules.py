"""Rules of API services."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Kind, changed, invalid, required, unsupported

from fairlead.codec.types.names import dns_1035_label, dns_subdomain

KEY = "apiregistration/v1/apiservices"
SERVICE: dict[str, Any] = {
    "metadata": {"name": "v1.x.example.com"},
    "spec": {
        "group": "x.example.com",
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 15,
        "service": {"namespace": "n", "name": "s"},
        "caBundle": "eA==",
    },
}
BLIND = "spec.insecureSkipTLSVerify"


def _named(version: str, group: str) -> dict[str, Any]:
    name = f"{version}.{group}"
    return {"metadata.name": name, "spec.version": version, "spec.group": group}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (_named("v1", ""), []),
        (
            {"metadata.name": "x"},
            [
                invalid(
                    "metadata.name",
                    '"x"',
                    'must be `spec.version+"."+spec.group`: "v1.x.example.com"',
                )
            ],
        ),
        (
            _named("v2", ""),
            [
                required(
                    "spec.group", "only v1 may have an empty group and it better be legacy kube"
                )
            ],
        ),
        (
            _named("V1", "Bad_"),
            [
                invalid("spec.group", '"Bad_"', dns_subdomain("Bad_")[0]),
                invalid("spec.version", '"V1"', dns_1035_label("V1")[0]),
            ],
        ),
        (
            {"spec.groupPriorityMinimum": 20001, "spec.versionPriority": 0},
            [
                invalid(
                    "spec.groupPriorityMinimum", "20001", "must be positive and less than 20000"
                ),
                invalid("spec.versionPriority", "0", "must be positive and less than 1000"),
            ],
        ),
        (
            {"spec.service": None, BLIND: True},
            [
                invalid("spec.caBundle", '"1 bytes"', "local APIServices may not have a caBundle"),
                invalid(BLIND, "true", "local APIServices may not have insecureSkipTLSVerify"),
            ],
        ),
        (
            {"spec.service": {"port": 0}, BLIND: True},
            [
                required("spec.service.namespace"),
                required("spec.service.name"),
                invalid(
                    "spec.service.port",
                    "0",
                    "port is not valid: must be between 1 and 65535, inclusive",
                ),
                invalid(BLIND, "true", "may not be true if caBundle is present"),
            ],
        ),
    ],
)
def test_api_service(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(KEY).wrong(changed(SERVICE, changes)) == causes


def test_a_local_service_is_available_at_once() -> None:
    kind = Kind(KEY)
    local = changed(SERVICE, {"spec.service": None, "spec.caBundle": None})
    (condition,) = kind.existing(local)["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "Available",
        "True",
        "Local",
    )
    assert kind.existing(SERVICE)["status"] == {}


def test_status() -> None:
    kind = Kind(KEY)
    sent = changed(
        SERVICE,
        {
            "metadata.labels": {"a": "b"},
            "status": {"conditions": [{"type": "Available", "status": "Perhaps"}]},
        },
    )
    new, causes = kind.update(kind.existing(SERVICE), sent, "status")
    assert "labels" not in new["metadata"]
    assert causes == [
        unsupported("status.conditions[0].status", '"Perhaps"', "True", "False", "Unknown")
    ]
