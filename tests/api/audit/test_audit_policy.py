"""Audit policies: which rule matches a request, and errors of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.logged import logged
from support.process import failed_start

from fairlead.api.audit.policy import METADATA, NONE, REQUEST, REQUEST_RESPONSE, Policy, Verdict
from fairlead.api.audit.policy_file import PolicyError, read_policy
from fairlead.api.routing import Target
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import CLUSTER, KUBERNETES

ALICE = User("alice", groups=("dev", "system:authenticated"))
POD = Target("", "get", True, "", "v1", "pods", "", "a", "p")
LOG = Target("", "get", True, "", "v1", "pods", "log", "a", "p")
SCALE = Target("", "update", True, "apps", "v1", "deployments", "scale", "b", "d")
NODE = Target("", "list", True, "", "v1", "nodes")
PAGE = Target("/healthz/ping", "get")
ALL = (POD, LOG, SCALE, NODE, PAGE)


def matched(rule: dict[str, Any], user: User | None = ALICE) -> list[Target]:
    """Return the requests that a rule matches."""
    policy = Policy({"rules": [{"level": "Request", **rule}]})
    return [item for item in ALL if policy.verdict(user, item, item.name).level == REQUEST]


def in_group(*resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"resources": [{"group": group, "resources": list(resources), **more}]}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({}, [*ALL]),
        ({"users": ["alice"]}, [*ALL]),
        ({"users": ["bob"]}, []),
        ({"userGroups": ["ops", "dev"]}, [*ALL]),
        ({"userGroups": ["ops"]}, []),
        ({"verbs": ["list", "update"]}, [SCALE, NODE]),
        ({"namespaces": ["a"]}, [POD, LOG]),
        ({"namespaces": [""]}, [NODE]),
        ({"nonResourceURLs": ["/healthz*"]}, [PAGE]),
        ({"nonResourceURLs": ["/healthz"]}, []),
        ({"nonResourceURLs": ["/healthz/ping"]}, [PAGE]),
        ({"nonResourceURLs": ["*"]}, [PAGE]),
        (in_group("pods"), [POD]),
        (in_group("pods/log"), [LOG]),
        (in_group("pods/*"), [POD, LOG]),
        (in_group("*/scale", group="apps"), [SCALE]),
        (in_group("*/log"), [LOG]),
        (in_group("*"), [POD, LOG, NODE]),
        (in_group(), [POD, LOG, NODE]),
        (in_group(group="apps"), [SCALE]),
        (in_group("pods", "nodes", resourceNames=["p"]), [POD]),
        (in_group("pods", resourceNames=["q"]), []),
        ({**in_group("pods"), "namespaces": ["b"]}, []),
        ({**in_group("pods"), "verbs": ["get"], "users": ["alice"]}, [POD]),
    ],
)
def test_a_rule_matches_what_all_its_fields_match(
    rule: dict[str, Any], expected: list[Target]
) -> None:
    assert matched(rule) == expected


def test_a_request_of_nobody_is_matched_by_no_rule_about_users() -> None:
    assert matched({"users": ["alice"]}, None) == []
    assert matched({"userGroups": ["dev"]}, None) == []
    assert matched({"verbs": ["get"]}, None) == [POD, LOG, PAGE]


def test_the_first_rule_that_matches_decides() -> None:
    rules = [{"level": "None", "verbs": ["get"]}, {"level": "RequestResponse"}]
    policy = Policy({"rules": rules})
    assert policy.verdict(ALICE, POD, "p").level == NONE
    assert policy.verdict(ALICE, NODE, "").level == REQUEST_RESPONSE


def test_what_no_rule_matches_is_not_told() -> None:
    policy = Policy({"rules": [{"level": "Metadata", "verbs": ["watch"]}]})
    assert policy.verdict(ALICE, POD, "p").level == NONE


def test_stages_are_omitted_by_the_policy_and_by_the_rule() -> None:
    rules = [{"level": "Metadata", "omitStages": ["Panic"]}]
    policy = Policy({"rules": rules, "omitStages": ["RequestReceived"]})
    omitted = frozenset({"Panic", "RequestReceived"})
    assert policy.verdict(ALICE, POD, "p") == Verdict(METADATA, omitted)


@pytest.mark.parametrize(
    ("policy", "rule", "omitted"),
    [(None, None, False), (True, None, True), (True, False, False), (None, True, True)],
)
def test_a_rule_overrules_the_policy_about_managed_fields(
    policy: bool | None, rule: bool | None, omitted: bool
) -> None:
    value: dict[str, Any] = {"rules": [{"level": "Metadata"}]}
    if policy is not None:
        value["omitManagedFields"] = policy
    if rule is not None:
        value["rules"][0]["omitManagedFields"] = rule
    assert Policy(value).verdict(ALICE, POD, "p").omits_managed_fields is omitted


def written(directory: Path, rule: dict[str, Any], **more: Any) -> Path:
    file = directory / "policy.yaml"
    head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
    file.write_text(yaml.safe_dump({**head, "rules": [{"level": "Metadata", **rule}], **more}))
    return file


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"level": "Loud"}, 'rules[0].level: unsupported value "Loud": only None, Metadata,'),
        ({"level": ""}, 'rules[0].level: unsupported value ""'),
        ({"omitStages": ["Soon"]}, 'rules[0].omitStages: unsupported value "Soon"'),
        ({"nonResourceURLs": ["x"]}, 'rules[0].nonResourceURLs[0]: "x": non-resource URL rules'),
        ({"nonResourceURLs": ["/a*b"]}, "wildcards '*' must be the final character"),
        (
            {"nonResourceURLs": ["/a"], "namespaces": ["b"]},
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
        (in_group("pods", group="Bad_Group"), 'rules[0].resources[0].group: "Bad_Group"'),
        (in_group(resourceNames=["a"]), "resourceNames: using resourceNames requires at least one"),
        ({"users": "alice"}, "rules.users"),
        ({"verbs": [{"a": 1}]}, "rules.verbs"),
    ],
)
def test_a_faulty_rule_is_refused_with_its_place(
    tmp_path: Path, rule: dict[str, Any], message: str
) -> None:
    file = written(tmp_path, rule)
    with pytest.raises(PolicyError) as caught:
        read_policy(file, KUBERNETES)
    assert str(caught.value).startswith(f"--audit-policy-file: {file}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a mapping"),
        ("[", "yaml"),
        ("apiVersion: audit.k8s.io/v1beta1\nkind: Policy", "apiVersion: "),
        ("apiVersion: audit.k8s.io/v1\nkind: Event", "kind: "),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy", "rules: there are none"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(PolicyError, match=message):
        read_policy(file, KUBERNETES)


def test_each_dialect_has_its_group(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"only audit.cluster.io/v1"):
        read_policy(written(tmp_path, {}), CLUSTER)
    read_policy(written(tmp_path, {}, apiVersion="audit.cluster.io/v1"), CLUSTER)


def test_an_unknown_field_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_policy(written(tmp_path, {"verb": ["get"]}), KUBERNETES)
    assert "has an unknown field" in logged(caplog)
    assert 'field="rules[0].verb"' in logged(caplog)


def test_a_server_does_not_start_with_a_faulty_policy(tmp_path: Path) -> None:
    file = written(tmp_path, {"level": "Loud"})
    done = failed_start(tmp_path, "--audit-policy-file", str(file), "--audit-log-path", "x")
    assert done.returncode == 1
    assert f"--audit-policy-file: {file}: rules[0].level" in done.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--audit-log-mode", "sometimes"), "--audit-log-mode"),
        (
            ("--audit-log-version", "audit.cluster.io/v1"),
            "--audit-log-version: only audit.k8s",
        ),
        (("--audit-webhook-batch-max-size", "0"), "--audit-webhook-batch-max-size: must be"),
        (
            ("--audit-log-truncate-enabled", "--audit-log-truncate-max-batch-size", "1"),
            "--audit-log-truncate-max-batch-size: must be greater",
        ),
        (("--audit-log-maxsize", "-1"), "must not be negative"),
    ],
)
def test_a_faulty_flag_is_refused_by_name(
    tmp_path: Path, flags: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from fairlead.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["serve", "--dialect", "kubernetes", "--data-dir", str(tmp_path), *flags])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
