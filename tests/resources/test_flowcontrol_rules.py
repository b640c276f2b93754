"""Rules of flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    Kind,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.flowcontrol.bootstrap import FLOW_SCHEMAS, PRIORITY_LEVELS

SCHEMAS = "flowcontrol/v1beta2/flowschemas"
LEVELS = "flowcontrol/v1beta2/prioritylevelconfigurations"
SCHEMA: dict[str, Any] = {
    "spec": {
        "priorityLevelConfiguration": {"name": "level"},
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": "u"}}],
                "resourceRules": [
                    {
                        "verbs": ["get"],
                        "apiGroups": [""],
                        "resources": ["pods"],
                        "namespaces": ["*"],
                    }
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/x/*"]}],
            }
        ],
    }
}
PRECEDENCE = "spec.matchingPrecedence"
LEVEL_NAME = "spec.priorityLevelConfiguration.name"
RULE = "spec.rules[0]"
SUBJECT = f"{RULE}.subjects[0]"
RESOURCE = f"{RULE}.resourceRules[0]"
URLS = f"{RULE}.nonResourceRules[0].nonResourceURLs"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
INTRO = "each member of this list must be '*' or a DNS-1123 label; "


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({PRECEDENCE: -1}, [invalid(PRECEDENCE, "-1", "must be a positive value")]),
        ({PRECEDENCE: 10001}, [invalid(PRECEDENCE, "10001", "must not be greater than 10000")]),
        (
            {PRECEDENCE: 1},
            [
                invalid(
                    PRECEDENCE, "1", "only the schema named 'exempt' may have matchingPrecedence 1"
                )
            ],
        ),
        (
            {"spec.distinguisherMethod": {"type": "x"}},
            [
                unsupported(
                    "spec.distinguisherMethod.type",
                    'flowcontrol.FlowDistinguisherMethod{Type:"x"}',
                    "ByNamespace",
                    "ByUser",
                )
            ],
        ),
        ({LEVEL_NAME: ""}, [required(LEVEL_NAME, "must reference a priority level")]),
        ({LEVEL_NAME: "Bad_"}, [invalid(LEVEL_NAME, '"Bad_"', dns_subdomain("Bad_")[0])]),
        (
            {"spec.rules": [{"subjects": []}]},
            [
                required(f"{RULE}.subjects", "subjects must contain at least one value"),
                required(
                    RULE, "at least one of resourceRules and nonResourceRules has to be non-empty"
                ),
            ],
        ),
        (
            {SUBJECT: {"kind": "Robot"}},
            [unsupported(f"{SUBJECT}.kind", '"Robot"', "Group", "ServiceAccount", "User")],
        ),
        (
            {SUBJECT: {"kind": "User", "group": {"name": "g"}}},
            [
                required(f"{SUBJECT}.user", "user is required when subject kind is 'User'"),
                forbidden(
                    f"{SUBJECT}.group", "group is forbidden when subject kind is not 'Group'"
                ),
            ],
        ),
        (
            {SUBJECT: {"kind": "ServiceAccount", "serviceAccount": {"name": ""}}},
            [
                required(f"{SUBJECT}.serviceAccount.name"),
                required(
                    f"{SUBJECT}.serviceAccount.namespace",
                    "must specify namespace for service account",
                ),
            ],
        ),
        (
            {f"{RESOURCE}.verbs": ["fly"]},
            [unsupported(f"{RESOURCE}.verbs", '[]string{"fly"}', *VERBS)],
        ),
        (
            {f"{RESOURCE}.verbs": ["*", "get"], f"{RESOURCE}.resources": []},
            [
                invalid(
                    f"{RESOURCE}.verbs",
                    '[]string{"*", "get"}',
                    "if '*' is present, must not specify other verbs",
                ),
                required(
                    f"{RESOURCE}.resources", "resource rules must supply at least one resource"
                ),
            ],
        ),
        (
            {f"{RESOURCE}.namespaces": []},
            [
                required(
                    f"{RESOURCE}.namespaces",
                    "resource rules that are not cluster scoped must supply at least one namespace",
                )
            ],
        ),
        (
            {f"{RESOURCE}.namespaces": ["Bad_"]},
            [invalid(f"{RESOURCE}.namespaces[0]", '"Bad_"', INTRO + dns_label("Bad_")[0])],
        ),
        ({URLS: ["/"]}, []),
        ({URLS: ["x"]}, [invalid(f"{URLS}[0]", '"x"', "must start with slash")]),
        ({URLS: ["/a*"]}, [invalid(f"{URLS}[0]", '"/a*"', "wildcard can only do suffix matching")]),
    ],
)
def test_flow_schema(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(SCHEMAS).wrong(changed(SCHEMA, changes)) == causes


LIMITED: dict[str, Any] = {
    "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}
}
RESPONSE = "spec.limited.limitResponse"
QUEUING = f"{RESPONSE}.queuing"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"spec.type": ""}, [unsupported("spec.type", '""', "Exempt", "Limited")]),
        (
            {"spec.type": "Exempt"},
            [
                invalid(
                    "spec.type",
                    '"Exempt"',
                    "type must be 'Exempt' if and only if name is 'exempt'",
                ),
                forbidden("spec.limited", "must be nil if the type is not Limited"),
            ],
        ),
        (
            {"spec.limited": None},
            [required("spec.limited", "must not be empty when type is Limited")],
        ),
        (
            {"spec.limited.assuredConcurrencyShares": -1, f"{RESPONSE}.type": "Drop"},
            [
                invalid("spec.limited.assuredConcurrencyShares", "-1", "must be positive"),
                unsupported(f"{RESPONSE}.type", '"Drop"', "Queue", "Reject"),
            ],
        ),
        (
            {f"{RESPONSE}.type": "Reject"},
            [forbidden(QUEUING, "must be nil if limited.limitResponse.type is not Limited")],
        ),
        (
            {QUEUING: None},
            [required(QUEUING, "must not be empty if limited.limitResponse.type is Limited")],
        ),
        (
            {QUEUING: {"queues": -1, "handSize": -1, "queueLengthLimit": -1}},
            [
                invalid(f"{QUEUING}.queueLengthLimit", "-1", "must be positive"),
                invalid(f"{QUEUING}.queues", "-1", "must be positive"),
                invalid(f"{QUEUING}.handSize", "-1", "must be positive"),
            ],
        ),
        (
            {QUEUING: {"queues": 4, "handSize": 8}},
            [invalid(f"{QUEUING}.handSize", "8", "should not be greater than queues (4)")],
        ),
        (
            {QUEUING: {"queues": 100000000, "handSize": 10}},
            [
                invalid(f"{QUEUING}.queues", "100000000", "must not be greater than 10000000"),
                invalid(
                    f"{QUEUING}.handSize",
                    "10",
                    "required entropy bits of deckSize 100000000 and handSize 10 should not be"
                    " greater than 60",
                ),
            ],
        ),
    ],
)
def test_priority_level(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(LEVELS).wrong(changed(LIMITED, changes)) == causes


@pytest.mark.parametrize(
    ("key", "name", "spec"),
    [
        *((SCHEMAS, name, spec) for name, spec in FLOW_SCHEMAS.items()),
        *((LEVELS, name, spec) for name, spec in PRIORITY_LEVELS.items()),
    ],
)
def test_mandatory_objects_are_fixed(key: str, name: str, spec: dict[str, Any]) -> None:
    kind = Kind(key)
    value = {"metadata": {"name": name}, "spec": spec}
    assert kind.wrong(value) == []
    other = SCHEMA["spec"] if key == SCHEMAS else LIMITED["spec"]
    causes = kind.wrong({**value, "spec": other})
    assert causes[-1][:2] == ("spec", "Invalid")
    assert causes[-1][2].endswith(f"spec of '{name}' must equal the fixed value")


def test_a_spec_that_is_not_the_fixed_one_is_printed_whole() -> None:
    kind = Kind(SCHEMAS)
    ((_, _, message),) = kind.wrong({"metadata": {"name": "catch-all"}, **SCHEMA})
    assert message == (
        "Invalid value: flowcontrol.FlowSchemaSpec{"
        'PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference{Name:"level"},'
        " MatchingPrecedence:1000, DistinguisherMethod:(*flowcontrol.FlowDistinguisherMethod)(nil),"
        " Rules:[]flowcontrol.PolicyRulesWithSubjects{flowcontrol.PolicyRulesWithSubjects{"
        'Subjects:[]flowcontrol.Subject{flowcontrol.Subject{Kind:"User",'
        " User:(*flowcontrol.UserSubject)(0xc000000000), Group:(*flowcontrol.GroupSubject)(nil),"
        " ServiceAccount:(*flowcontrol.ServiceAccountSubject)(nil)}},"
        " ResourceRules:[]flowcontrol.ResourcePolicyRule{flowcontrol.ResourcePolicyRule{"
        'Verbs:[]string{"get"}, APIGroups:[]string{""}, Resources:[]string{"pods"},'
        ' ClusterScope:false, Namespaces:[]string{"*"}}},'
        " NonResourceRules:[]flowcontrol.NonResourcePolicyRule{flowcontrol.NonResourcePolicyRule{"
        'Verbs:[]string{"*"}, NonResourceURLs:[]string{"/x/*"}}}}}}'
        ": spec of 'catch-all' must equal the fixed value"
    )


def test_a_status_brings_only_itself() -> None:
    kind = Kind(SCHEMAS)
    old = kind.existing(SCHEMA)
    conditions = [{"type": "X", "status": "True"}, {"type": "X"}, {}]
    sent = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {},
        "status": {"conditions": conditions},
    }
    new, causes = kind.update(old, sent, "status")
    assert new["spec"] == old["spec"]
    assert new["metadata"] == old["metadata"]
    assert causes == [
        duplicate("status.conditions[1].type", '"X"'),
        required("status.conditions[2].type", "must not be empty"),
    ]
