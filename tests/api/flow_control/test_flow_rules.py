"""Which flow schema a request belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from orjson import dumps

from fairlead.api.flow_control.configuration import Configuration, Flow
from fairlead.api.routing import Target
from fairlead.auth.authentication.user import AUTHENTICATED, MASTERS, User
from fairlead.base.dialect import KUBERNETES
from fairlead.storage.version import Change, Version, existing

ALICE = User("alice", "", ("dev", AUTHENTICATED))
ROBOT = User("system:serviceaccount:shop:robot", "", (AUTHENTICATED,))
LIMITED = {"type": "Limited", "limited": {"assuredConcurrencyShares": 5, "limitResponse": {}}}
EVERY: dict[str, Any] = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "clusterScope": True,
    "namespaces": ["*"],
}


def change(name: str, spec: dict[str, Any]) -> Change:
    value = {"metadata": {"name": name, "uid": f"uid-of-{name}"}, "spec": spec}
    return existing("x", Version(name, 1, "v1", dumps(value)[1:]))


def gone(name: str) -> Change:
    before = change(name, {}).after
    return Change("x", name, 2, "v1", before, None)


def target(
    verb: str = "get",
    resource: str = "pods",
    namespace: str = "shop",
    group: str = "",
    subresource: str = "",
) -> Target:
    path = f"/api/v1/namespaces/{namespace}/{resource}"
    return Target(path, verb, True, group, "v1", resource, subresource, namespace)


def schema(rule: dict[str, Any], precedence: int = 500, **more: Any) -> dict[str, Any]:
    level = {"priorityLevelConfiguration": {"name": "mine"}}
    return {**level, "matchingPrecedence": precedence, "rules": [rule], **more}


def subjects(*result: tuple[str, dict[str, str]]) -> dict[str, Any]:
    fields = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
    return {"subjects": [{"kind": kind, fields[kind]: named} for kind, named in result]}


ANYBODY = subjects(("Group", {"name": "*"}))


class Classifier:
    """Classifies requests by a configuration."""

    def __init__(self, *schemas: tuple[str, dict[str, Any]], total: int = 600) -> None:
        self.configuration = Configuration(KUBERNETES, total)
        self.configuration.level_changed(change("mine", LIMITED))
        for name, spec in schemas:
            self.configuration.schema_changed(change(name, spec))

    def flow(self, user: User = ALICE, about: Target | None = None) -> Flow:
        return self.configuration.flow_of(user, about or target(), ())

    def name(self, user: User = ALICE, about: Target | None = None) -> str:
        return self.flow(user, about).schema.name


def test_without_stored_objects_there_are_the_mandatory_ones() -> None:
    classifier = Classifier()
    assert classifier.name() == "catch-all"
    assert classifier.name(User("root", "", (MASTERS, AUTHENTICATED))) == "exempt"
    assert classifier.name(User("nobody")) == "catch-all"


@pytest.mark.parametrize(
    ("subject", "user", "matches"),
    [
        (("User", {"name": "alice"}), ALICE, True),
        (("User", {"name": "bob"}), ALICE, False),
        (("User", {"name": "*"}), ALICE, True),
        (("Group", {"name": "dev"}), ALICE, True),
        (("Group", {"name": "ops"}), ALICE, False),
        (("Group", {"name": "*"}), ALICE, True),
        (("ServiceAccount", {"namespace": "shop", "name": "robot"}), ROBOT, True),
        (("ServiceAccount", {"namespace": "shop", "name": "*"}), ROBOT, True),
        (("ServiceAccount", {"namespace": "farm", "name": "*"}), ROBOT, False),
        (("ServiceAccount", {"namespace": "shop", "name": "other"}), ROBOT, False),
        (("ServiceAccount", {"namespace": "shop", "name": "*"}), ALICE, False),
    ],
)
def test_subjects(subject: tuple[str, dict[str, str]], user: User, matches: bool) -> None:
    classifier = Classifier(("s", schema({**subjects(subject), "resourceRules": [EVERY]})))
    assert (classifier.name(user) == "s") is matches


@pytest.mark.parametrize(
    ("rule", "about", "matches"),
    [
        ({}, target(), True),
        ({"verbs": ["list"]}, target("get"), False),
        ({"verbs": ["list", "get"]}, target("get"), True),
        ({"apiGroups": ["apps"]}, target(group="apps"), True),
        ({"apiGroups": ["apps"]}, target(), False),
        ({"apiGroups": [""]}, target(), True),
        ({"resources": ["pods"]}, target(), True),
        ({"resources": ["pods"]}, target(subresource="status"), False),
        ({"resources": ["pods/status"]}, target(subresource="status"), True),
        ({"namespaces": ["shop"]}, target(), True),
        ({"namespaces": ["farm"]}, target(), False),
        ({"namespaces": ["shop"]}, target(namespace=""), True),
        ({"clusterScope": False}, target(namespace=""), False),
        ({"clusterScope": False}, target(), True),
    ],
)
def test_resource_rules(rule: dict[str, Any], about: Target, matches: bool) -> None:
    classifier = Classifier(("s", schema({**ANYBODY, "resourceRules": [{**EVERY, **rule}]})))
    assert (classifier.name(ALICE, about) == "s") is matches


@pytest.mark.parametrize(
    ("verbs", "paths", "path", "matches"),
    [
        (["*"], ["*"], "/version", True),
        (["get"], ["/version"], "/version", True),
        (["post"], ["/version"], "/version", False),
        (["get"], ["/healthz"], "/healthz/ping", False),
        (["get"], ["/healthz/*"], "/healthz/ping", True),
        (["get"], ["/healthz/*"], "/healthz", False),
    ],
)
def test_path_rules(verbs: list[str], paths: list[str], path: str, matches: bool) -> None:
    rule = {**ANYBODY, "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": paths}]}
    classifier = Classifier(("s", schema(rule)))
    assert (classifier.name(ALICE, Target(path, "get")) == "s") is matches
    assert classifier.name() == "catch-all", "it says nothing of resources"


def test_the_lowest_precedence_wins_and_then_the_name() -> None:
    rule = {**ANYBODY, "resourceRules": [EVERY]}
    classifier = Classifier(
        ("c", schema(rule, 100)), ("b", schema(rule, 100)), ("a", schema(rule, 200))
    )
    assert classifier.name() == "b"


@pytest.mark.parametrize(
    ("method", "distinguisher"),
    [({}, ""), ({"type": "ByUser"}, "alice"), ({"type": "ByNamespace"}, "shop")],
)
def test_distinguishers(method: dict[str, str], distinguisher: str) -> None:
    rule = {**ANYBODY, "resourceRules": [EVERY]}
    classifier = Classifier(("s", schema(rule, distinguisherMethod=method or None)))
    assert classifier.flow().distinguisher == distinguisher


def test_answers_name_the_schema_and_the_level() -> None:
    classifier = Classifier(("s", schema({**ANYBODY, "resourceRules": [EVERY]})))
    assert classifier.flow().lines == (
        b"x-kubernetes-pf-flowschema-uid: uid-of-s\r\n"
        b"x-kubernetes-pf-prioritylevel-uid: uid-of-mine\r\n"
    )


def test_a_schema_without_its_level_is_not_used() -> None:
    classifier = Classifier(("s", schema({**ANYBODY, "resourceRules": [EVERY]})))
    classifier.configuration.level_changed(gone("mine"))
    assert classifier.name() == "catch-all"


def test_mandatory_objects_stay_when_they_are_deleted() -> None:
    classifier = Classifier()
    classifier.configuration.schema_changed(gone("catch-all"))
    classifier.configuration.level_changed(gone("catch-all"))
    assert classifier.flow().level.name == "catch-all"


def test_seats_are_divided_by_shares_and_rounded_up() -> None:
    classifier = Classifier(total=11)
    limits = {
        name: level.queues.limit
        for name, level in classifier.configuration.levels.items()
        if level.queues is not None
    }
    assert limits == {"catch-all": 6, "mine": 6}


def test_processes_divide_the_seats_of_a_level() -> None:
    configuration = Configuration(KUBERNETES, 10, processes=4)
    queues = configuration.levels["catch-all"].queues
    assert queues is not None
    assert queues.limit == 3


def test_a_level_that_is_not_wanted_stays_until_its_last_request_ends() -> None:
    classifier = Classifier()
    level = classifier.configuration.levels["mine"]
    assert level.queues is not None
    assert level.queues.take(1)
    classifier.configuration.level_changed(gone("mine"))
    assert classifier.configuration.levels["mine"].quiescing
    level.queues.give_back(1, 0.0)
    classifier.configuration.drained(level)
    assert "mine" not in classifier.configuration.levels


def test_a_level_of_the_same_name_does_not_go_with_the_one_before() -> None:
    classifier = Classifier()
    before = classifier.configuration.levels["mine"]
    classifier.configuration.level_changed(gone("mine"))
    classifier.configuration.level_changed(change("mine", LIMITED))
    classifier.configuration.drained(before)  # by a request that came before all of that
    assert classifier.configuration.levels["mine"] is not before
