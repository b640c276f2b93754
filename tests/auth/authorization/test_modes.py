"""The chain of modes, the modes without objects, and messages of refusals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.authorization import Objects, World, ask, rule, user

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.abac import Abac, PolicyFileError, read_policy_file
from fairlead.auth.authorization.attributes import (
    Attributes,
    Decision,
    UserRules,
    creation_refusal,
    refusal,
)
from fairlead.auth.authorization.chain import Authorizer, ImmediateMode
from fairlead.auth.authorization.modes import (
    AlwaysAllow,
    AlwaysDeny,
    ModeError,
    check_files,
    parse_modes,
)
from fairlead.auth.authorization.setup import AuthorizationOptions, build_authorization
from fairlead.auth.authorization.webhook import Webhook
from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.wire.outgoing.response import CallError

Object = dict[str, Any]

ALICE = user("alice", "dev", "system:authenticated")


class Fixed(ImmediateMode):
    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.calls = 0

    def decide(self, attributes: Attributes) -> Decision:
        self.calls += 1
        return self.decision

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules(errors=[self.decision.reason])


def decide(*decisions: Decision) -> Decision:
    authorizer = Authorizer([Fixed(decision) for decision in decisions])
    return asyncio.run(authorizer.authorize(ask(ALICE, "get", "pods")))


YES, NO = Decision(allowed=True, reason="yes"), Decision(denied=True, reason="no")
PASS, PASS_TOO = Decision(reason="first"), Decision(reason="second", errors=("oops",))


def test_the_first_that_decides_ends_it() -> None:
    assert decide(PASS, YES, NO) == YES
    assert decide(PASS, NO, YES) == NO
    assert decide(PASS, PASS_TOO) == Decision(reason="first\nsecond", errors=("oops",))
    assert decide() == Decision()


def test_the_privileged_group_is_never_asked() -> None:
    authorizer = Authorizer([Fixed(NO)])
    decision = asyncio.run(authorizer.authorize(ask(user("x", "system:masters"), "get", "pods")))
    assert (decision.allowed, decision.reason) == (True, "")


def test_decisions_are_kept_only_if_they_last() -> None:
    for decision, times in ((YES, 1), (Decision(lasting=False), 2)):
        mode = Fixed(decision)
        authorizer = Authorizer([mode])
        for _ in range(2):
            asyncio.run(authorizer.authorize(ask(ALICE, "get", "pods")))
        assert mode.calls == times
    last = Fixed(YES)
    authorizer = Authorizer([Fixed(Decision(lasting=False)), last])
    for _ in range(2):
        assert asyncio.run(authorizer.allowed(ask(ALICE, "get", "pods")))
    assert last.calls == 2


def test_every_part_of_a_question_counts() -> None:
    mode = Fixed(YES)
    authorizer = Authorizer([mode])
    requests = [
        ask(ALICE, "get", "pods"),
        ask(ALICE, "list", "pods"),
        ask(ALICE, "get", "apps:pods"),
        ask(ALICE, "get", "pods/log"),
        ask(ALICE, "get", "pods", "ns"),
        ask(ALICE, "get", "pods", "", "ns"),
        ask(ALICE, "get", "/pods"),
        ask(user("alice"), "get", "pods"),
        ask(user("bob", "dev", "system:authenticated"), "get", "pods"),
    ]
    for question in requests:
        asyncio.run(authorizer.authorize(question))
    assert mode.calls == len(requests)


def test_rules_come_from_all_modes() -> None:
    assert Authorizer([Fixed(PASS), Fixed(PASS_TOO)]).rules_for(ALICE, "ns").error == (
        "[first, second]"
    )


def test_always() -> None:
    question = ask(ALICE, "get", "pods")
    assert AlwaysAllow().decide(question).allowed
    denied = AlwaysDeny().decide(question)
    assert not denied.final
    assert denied.reason == "Everything is forbidden."


@pytest.mark.parametrize(
    ("question", "reason", "message"),
    [
        (ask(ALICE, "list", "pods", "ns"), "",
         'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the'
         ' namespace "ns"'),
        (ask(ALICE, "get", "apps:deployments/scale", "ns", "d"), "",
         'deployments.apps "d" is forbidden: User "alice" cannot get resource "deployments/scale"'
         ' in API group "apps" in the namespace "ns"'),
        (ask(ALICE, "delete", "nodes", "", "n"), "because",
         'nodes "n" is forbidden: User "alice" cannot delete resource "nodes" in API group "" at'
         " the cluster scope: because"),
        (ask(user('a"<b>&'), "get", "/x<y>"), "",
         'forbidden: User "a\\"&lt;b&gt;&amp;" cannot get path "/x&lt;y&gt;"'),
        (ask(ALICE, "", "configmaps", "ns"), "",
         'configmaps is forbidden: User "alice" cannot  resource "configmaps" in API group "" in'
         ' the namespace "ns"'),
    ],
)  # fmt: skip
def test_refusals(question: Attributes, reason: str, message: str) -> None:
    error = refusal(question, Decision(reason=reason))
    assert (error.code, error.reason, error.message) == (403, "Forbidden", message)


def test_a_refused_creation_gives_only_the_reason() -> None:
    error = creation_refusal(ask(ALICE, "create", "configmaps", "ns", "a"), Decision())
    assert error.message == 'configmaps "a" is forbidden: '


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "at least one authorization-mode must be passed"),
        ("RBAC,Foo", 'authorization-mode "Foo" is not a valid mode'),
        ("rbac", 'authorization-mode "rbac" is not a valid mode'),
        ("RBAC,Node,RBAC",
         'authorization-mode ["RBAC" "Node" "RBAC"] has mode specified more than once'),
    ],
)  # fmt: skip
def test_bad_modes(text: str, error: str) -> None:
    with pytest.raises(ModeError) as raised:
        parse_modes(text)
    assert str(raised.value) == error


def test_modes_keep_their_order() -> None:
    assert parse_modes("Webhook,Node,RBAC") == ("Webhook", "Node", "RBAC")


@pytest.mark.parametrize(
    ("mode", "policy", "webhook", "error"),
    [
        ("ABAC", False, False, "authorization-mode ABAC's authorization policy file not passed"),
        ("RBAC", True, False, "cannot specify --authorization-policy-file without mode ABAC"),
        ("Webhook", False, False,
         "authorization-mode Webhook's authorization config file not passed"),
        ("RBAC", False, True,
         "cannot specify --authorization-webhook-config-file without mode Webhook"),
    ],
)  # fmt: skip
def test_files_and_modes_go_together(mode: str, policy: bool, webhook: bool, error: str) -> None:
    with pytest.raises(ModeError) as raised:
        check_files((mode,), policy, webhook)
    assert str(raised.value) == error


def policies(path: Path, *specs: Object) -> Abac:
    version = "abac.authorization.kubernetes.io/v1beta1"
    lines = [json.dumps({"apiVersion": version, "kind": "Policy", "spec": s}) for s in specs]
    path.write_text("# who may do what\n\n" + "\n".join(lines) + "\n")
    return Abac(read_policy_file(path, KUBERNETES))


PODS_IN_X = {"user": "alice", "namespace": "x", "resource": "pods"}
EVERYTHING = {"namespace": "*", "resource": "*", "apiGroup": "*"}


@pytest.mark.parametrize(
    ("spec", "who", "verb", "what", "namespace", "allowed"),
    [
        ({"user": "alice", **EVERYTHING}, ALICE, "delete", "apps:deployments", "x", True),
        ({"user": "bob", **EVERYTHING}, ALICE, "get", "pods", "x", False),
        ({"group": "dev", **EVERYTHING}, ALICE, "get", "pods", "x", True),
        ({"user": "alice", "group": "ops", **EVERYTHING}, ALICE, "get", "pods", "x", False),
        ({"user": "*", **EVERYTHING}, ALICE, "get", "pods", "x", True),
        ({"group": "*", **EVERYTHING}, user("system:anonymous"), "get", "pods", "x", False),
        (EVERYTHING, ALICE, "get", "pods", "x", False),
        ({"user": "alice", "readonly": True, **EVERYTHING}, ALICE, "watch", "pods", "x", True),
        ({"user": "alice", "readonly": True, **EVERYTHING}, ALICE, "create", "pods", "x", False),
        (PODS_IN_X, ALICE, "get", "pods", "x", True),
        (PODS_IN_X, ALICE, "get", "pods/log", "x", True),
        (PODS_IN_X, ALICE, "get", "pods", "y", False),
        (PODS_IN_X, ALICE, "get", "apps:pods", "x", False),
        ({"user": "alice", **EVERYTHING}, ALICE, "get", "/healthz", "", False),
        ({"user": "alice", "nonResourcePath": "*"}, ALICE, "get", "/healthz", "", True),
        ({"user": "alice", "nonResourcePath": "/a/*"}, ALICE, "get", "/a/b", "", True),
        ({"user": "alice", "nonResourcePath": "/a/*"}, ALICE, "get", "/b", "", False),
        ({"user": "alice", "nonResourcePath": "*"}, ALICE, "get", "pods", "", False),
    ],
)  # fmt: skip
def test_abac(
    tmp_path: Path, spec: Object, who: User, verb: str, what: str, namespace: str, allowed: bool
) -> None:
    decision = policies(tmp_path / "p", spec).decide(ask(who, verb, what, namespace))
    assert decision.allowed is allowed
    assert decision.reason == ("" if allowed else "No policy matched.")


def test_abac_rules(tmp_path: Path) -> None:
    mode = policies(
        tmp_path / "p",
        {"user": "alice", "readonly": True, "nonResourcePath": "/x", **EVERYTHING},
        {"user": "alice", "namespace": "other", "resource": "pods"},
    )
    user_rules = mode.rules_for(ALICE, "ns")
    read = ["get", "list", "watch"]
    assert user_rules.resource_rules == [{"verbs": read, "apiGroups": ["*"], "resources": ["*"]}]
    assert user_rules.path_rules == [{"verbs": read, "nonResourceURLs": ["/x"]}]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "not JSON"),
        ('{"user": "alice"}', "not an object of kind Policy"),
        ('{"kind": "Policy", "apiVersion": "v1"}', "the apiVersion is not abac.authorization"),
        ('{"kind": "Policy", "apiVersion": "abac.authorization.cluster.io/v1beta1"}', "no spec"),
        ('{"kind": "Policy", "apiVersion": "abac.authorization.cluster.io/v1beta1",'
         ' "spec": {"user": 1}}', "spec.user must be a str"),
        ('{"kind": "Policy", "apiVersion": "abac.authorization.cluster.io/v1beta1",'
         ' "spec": {"users": "x"}}', "spec has no field 'users'"),
    ],
)  # fmt: skip
def test_bad_policies_name_their_line(tmp_path: Path, line: str, error: str) -> None:
    path = tmp_path / "policies"
    path.write_text(f"# a comment\n{line}\n")
    with pytest.raises(PolicyFileError) as raised:
        read_policy_file(path, CLUSTER)
    assert f"{path}, line 2: " in str(raised.value)
    assert error in str(raised.value)


class Judge:
    """A fake authorization server."""

    def __init__(self, status: Any, error: CallError | None = None, **fields: str) -> None:
        self.answer = {"status": status, **fields}
        self.error = error
        self.requests: list[Object] = []

    async def post_with_retries(self, body: Object, timeout: float) -> Object:
        self.requests.append(body)
        if self.error is not None:
            raise self.error
        return self.answer


def asked_of(judge: Judge, *questions: Attributes, **options: Any) -> list[Decision]:
    webhook = Webhook(KUBERNETES, judge, **options)

    async def run() -> list[Decision]:
        return [await webhook.authorize(question) for question in questions]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("status", "allowed", "denied", "reason"),
    [
        ({"allowed": True, "reason": "fine"}, True, False, "fine"),
        ({"allowed": False, "reason": "unknown"}, False, False, "unknown"),
        ({"allowed": False, "denied": True}, False, True, ""),
        ({"allowed": True, "denied": True}, False, True, ""),
    ],
)
def test_webhook_answers(status: Object, allowed: bool, denied: bool, reason: str) -> None:
    (decision,) = asked_of(Judge(status), ask(ALICE, "get", "pods"))
    assert (decision.allowed, decision.denied, decision.reason) == (allowed, denied, reason)


@pytest.mark.parametrize(
    "judge",
    [
        Judge(None),
        Judge({}, CallError("no route")),
        Judge({"allowed": "true"}),
        Judge({"allowed": True}, kind="TokenReview"),
        Judge({"allowed": True}, apiVersion="authorization.k8s.io/v9"),
    ],
)
def test_a_webhook_that_fails_has_no_opinion(judge: Judge) -> None:
    (decision,) = asked_of(judge, ask(ALICE, "get", "pods"))
    assert not decision.final
    assert decision.errors


def test_webhook_questions() -> None:
    who = User("alice", "u1", ("dev",), {"scopes": ("a", "b")})
    question = Attributes(who, "get", "apps", "v1", "deployments", "scale", "ns", "d")
    judge = Judge({"allowed": True})
    asked_of(judge, question, version="v1")
    assert judge.requests[0]["apiVersion"] == "authorization.k8s.io/v1"
    assert judge.requests[0]["kind"] == "SubjectAccessReview"
    assert judge.requests[0]["spec"] == {
        "resourceAttributes": {
            "namespace": "ns", "verb": "get", "group": "apps", "version": "v1",
            "resource": "deployments", "subresource": "scale", "name": "d",
        },
        "user": "alice", "groups": ["dev"], "extra": {"scopes": ["a", "b"]}, "uid": "u1",
    }  # fmt: skip
    asked_of(judge, ask(user("bob", "g"), "get", "/x"))
    assert judge.requests[1]["apiVersion"] == "authorization.k8s.io/v1beta1"
    assert judge.requests[1]["spec"] == {
        "nonResourceAttributes": {"path": "/x", "verb": "get"}, "user": "bob", "group": ["g"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "options", "times"),
    [
        ({"allowed": True}, {}, 1),
        ({"allowed": False}, {}, 1),
        ({"allowed": True}, {"authorized_ttl": 0.0}, 2),
        ({"allowed": False}, {"authorized_ttl": 0.0}, 1),
        ({"allowed": False}, {"unauthorized_ttl": 0.0}, 2),
    ],
)
def test_webhook_answers_are_kept(status: Object, options: Object, times: int) -> None:
    judge = Judge(status)
    question = ask(ALICE, "get", "pods")
    asked_of(judge, question, question, **options)
    assert len(judge.requests) == times


def test_what_a_client_can_make_long_is_not_kept() -> None:
    judge = Judge({"allowed": True})
    question = ask(ALICE, "get", "/" + "x" * 10_000)
    asked_of(judge, question, question)
    assert len(judge.requests) == 2


def test_identities_are_told_apart() -> None:
    judge = Judge({"allowed": True})
    first, second = User("a", "1"), User("a", "1", (), {"scope": ("x",)})
    asked_of(judge, ask(first, "get", "pods"), ask(second, "get", "pods"))
    assert len(judge.requests) == 2


def test_all_together() -> None:
    world = World()
    world.role("r", rule("core", "pods", "get"))
    world.bind("b", "r", "user:alice")
    built = build_authorization(KUBERNETES, world.objects.follow, AuthorizationOptions())
    assert asyncio.run(built.authorizer.allowed(ask(ALICE, "get", "pods")))
    options = AuthorizationOptions(mode="AlwaysDeny")
    built = build_authorization(KUBERNETES, Objects().follow, options)
    assert not asyncio.run(built.authorizer.allowed(ask(ALICE, "get", "pods")))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (AuthorizationOptions(mode="Nope"), "is not a valid mode"),
        (AuthorizationOptions(mode="ABAC", policy_file=Path("/no/such")), "cannot read the policy"),
        (AuthorizationOptions(mode="Webhook", webhook_config_file=Path("/no/such")), "cannot read"),
    ],
)
def test_what_cannot_be_built(options: AuthorizationOptions, error: str) -> None:
    with pytest.raises(ModeError, match=error):
        build_authorization(KUBERNETES, Objects().follow, options)
