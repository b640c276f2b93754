"""The bootstrap roles and bindings: their content, and how they are restored."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.authorization import GROUP, Objects, aggregate, change, rule

from fairlead.auth.authorization.bootstrap import bootstrap_objects, bootstrap_rules
from fairlead.auth.authorization.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
from fairlead.auth.authorization.reconciliation import reconcile_bootstrap_objects
from fairlead.base.dialect import CLUSTER, DIALECTS, KUBERNETES
from fairlead.base.errors import ResourceRef, already_exists
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.resources.gates import Gates

Object = dict[str, Any]

REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
FACTS = {V1_25: REFERENCE / "rbac.json", V1_36: REFERENCE / "1.36" / "rbac.json"}
KINDS = {
    "ClusterRole": CLUSTER_ROLES,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
}
AUTOUPDATE = KUBERNETES.label("rbac.authorization.@/autoupdate")


def flat(value: Object) -> Object:
    """An object as the reference's table writes it."""
    metadata = value["metadata"]
    assert metadata["annotations"] == {AUTOUPDATE: "true"}
    rest = {name: part for name, part in value.items() if name != "metadata" and part is not None}
    named = {name: metadata[name] for name in ("name", "namespace", "labels") if name in metadata}
    return {**named, **rest}


@pytest.mark.skipif(not REFERENCE.exists(), reason="needs the facts of the reference")
@pytest.mark.parametrize("release", FACTS, ids=lambda release: release.name)
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_holds_the_objects_of_the_reference(kind: str, release: Release) -> None:
    expected = json.loads(FACTS[release].read_text())[kind]
    objects = bootstrap_objects(KUBERNETES, Gates(release=release))
    results = [flat(value) for key, value in objects if key == KINDS[kind]]

    def order(value: Object) -> tuple[str, str]:
        return value.get("namespace", ""), value["name"]

    assert sorted(results, key=order) == sorted(expected, key=order)


@pytest.mark.parametrize("release", FACTS, ids=lambda release: release.name)
def test_the_cluster_dialect_has_its_own_names(release: Release) -> None:
    text = json.dumps(bootstrap_objects(CLUSTER, Gates(release=release)))
    assert "k8s.io" not in text
    assert "kube" not in text
    names = [value["metadata"]["name"] for _, value in bootstrap_objects(CLUSTER)]
    assert "system:certificates.cluster.io:api-server-client-node-agent-approver" in names
    assert "system:node-agent-api-admin" in names


def test_rules_of_one_role() -> None:
    assert rule("core", "services", "get list watch") in bootstrap_rules(KUBERNETES, "system:node")
    with pytest.raises(KeyError):
        bootstrap_rules(KUBERNETES, "nobody")


def reconcile(objects: Objects) -> int:
    """Reconcile and give the number of writes that took."""
    before = objects.writes
    asyncio.run(reconcile_bootstrap_objects(KUBERNETES, objects))
    return objects.writes - before


@pytest.fixture
def fresh() -> Objects:
    objects = Objects()
    assert reconcile(objects) == len(bootstrap_objects(KUBERNETES)) == 119
    return objects


def test_nothing_is_written_when_all_is_there(fresh: Objects) -> None:
    assert reconcile(fresh) == 0


def test_a_missing_object_is_created(fresh: Objects) -> None:
    fresh.remove(CLUSTER_ROLE_BINDINGS, "", "system:basic-user")
    assert reconcile(fresh) == 1
    assert fresh.find(CLUSTER_ROLE_BINDINGS, "", "system:basic-user") is not None


@pytest.mark.parametrize("autoupdate", ["false", "true"])
def test_a_missing_binding_that_was_split_off_is_as_its_source(
    fresh: Objects, autoupdate: str
) -> None:
    name = "system:public-info-viewer"
    old = fresh.find(CLUSTER_ROLE_BINDINGS, "", name)
    assert old is not None
    known, strangers = old["subjects"]
    marks = {AUTOUPDATE: autoupdate, "mine": "too"}
    change(
        fresh, CLUSTER_ROLE_BINDINGS, "", "system:discovery", subjects=[known], annotations=marks
    )
    fresh.remove(CLUSTER_ROLE_BINDINGS, "", name)
    assert reconcile(fresh) == 1
    value = fresh.find(CLUSTER_ROLE_BINDINGS, "", name)
    assert value is not None
    assert value["roleRef"] == old["roleRef"]
    assert value["metadata"]["annotations"] == marks
    assert value["subjects"] == ([known] if autoupdate == "false" else [known, strangers])


def test_missing_rules_come_back_and_extra_rules_stay(fresh: Objects) -> None:
    extra = rule("core", "pods", "get")
    change(fresh, CLUSTER_ROLES, "", "system:basic-user", rules=[extra])
    assert reconcile(fresh) == 1
    result = fresh.find(CLUSTER_ROLES, "", "system:basic-user")
    assert result is not None
    reviews = KUBERNETES.group_name("authorization.@")
    assert result["rules"] == [
        extra,
        rule(reviews, "selfsubjectaccessreviews", "create"),
        rule(reviews, "selfsubjectrulesreviews", "create"),
    ]
    assert reconcile(fresh) == 0


def test_missing_subjects_come_back_and_extra_subjects_stay(fresh: Objects) -> None:
    bob = {"kind": "User", "apiGroup": GROUP, "name": "bob"}
    old = change(fresh, CLUSTER_ROLE_BINDINGS, "", "cluster-admin", subjects=[bob])
    assert reconcile(fresh) == 1
    result = fresh.find(CLUSTER_ROLE_BINDINGS, "", "cluster-admin")
    assert result is not None
    assert result["subjects"] == [bob, *old["subjects"]]


def test_labels_come_back_and_changed_ones_stay(fresh: Objects) -> None:
    value = fresh.find(CLUSTER_ROLES, "", "view")
    assert value is not None
    label = KUBERNETES.group_name("rbac.authorization.@/aggregate-to-edit")
    value["metadata"]["labels"] = {label: "false", "mine": "too"}
    fresh.put(CLUSTER_ROLES, value)
    assert reconcile(fresh) == 1
    value = fresh.find(CLUSTER_ROLES, "", "view")
    assert value is not None
    bootstrapping = KUBERNETES.label("@/bootstrapping")
    assert value["metadata"]["labels"] == {
        bootstrapping: "rbac-defaults", label: "false", "mine": "too",
    }  # fmt: skip


def test_what_says_so_is_left_alone(fresh: Objects) -> None:
    off = {AUTOUPDATE: "false"}
    change(fresh, CLUSTER_ROLES, "", "system:basic-user", rules=None, annotations=off)
    change(fresh, CLUSTER_ROLE_BINDINGS, "", "cluster-admin", subjects=[], annotations=off)
    assert reconcile(fresh) == 0


def test_a_binding_to_another_role_is_made_again(fresh: Objects) -> None:
    other = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"}
    change(fresh, CLUSTER_ROLE_BINDINGS, "", "system:basic-user", roleRef=other)
    assert reconcile(fresh) == 2
    result = fresh.find(CLUSTER_ROLE_BINDINGS, "", "system:basic-user")
    assert result is not None
    assert result["roleRef"]["name"] == "system:basic-user"


def test_another_server_at_the_same_work() -> None:
    """Another server creates the object first: it is found then, without an error."""

    class Contested(Objects):
        async def create(self, key: str, value: Object) -> None:
            if self.find(key, value["metadata"].get("namespace", ""), value["metadata"]["name"]):
                raise AssertionError("created twice")
            self.put(key, value)
            raise already_exists(ResourceRef("", key, value["metadata"]["name"]))

    assert reconcile(Contested()) == 119


def test_rules_of_aggregated_roles_are_not_touched(fresh: Objects) -> None:
    change(fresh, CLUSTER_ROLES, "", "admin", rules=[rule("x", "y", "z")])
    assert reconcile(fresh) == 0
    change(fresh, CLUSTER_ROLES, "", "admin", aggregationRule={"clusterRoleSelectors": []})
    assert reconcile(fresh) == 1


def role(name: str, labels: Object, rules: list[Object], *selectors: Object) -> Object:
    value: Object = {"metadata": {"name": name, "labels": labels}, "rules": rules}
    if selectors:
        value["aggregationRule"] = {"clusterRoleSelectors": list(selectors)}
    return value


def rules_of(objects: Objects, name: str) -> list[Object]:
    role = objects.find(CLUSTER_ROLES, "", name)
    assert role is not None
    rules: list[Object] = role["rules"]
    return rules


def test_aggregation_gathers_rules_once_in_the_order_of_names() -> None:
    objects = Objects()
    first, second = rule("core", "pods", "get"), rule("core", "pods", "list")
    objects.put(CLUSTER_ROLES, role("b", {"x": "1"}, [second, first]))
    objects.put(CLUSTER_ROLES, role("a", {"x": "1", "y": "1"}, [first]))
    objects.put(CLUSTER_ROLES, role("c", {"x": "2"}, [rule("core", "nodes", "get")]))
    selectors = ({"matchLabels": {"x": "1"}}, {"matchLabels": {"y": "1"}})
    objects.put(CLUSTER_ROLES, role("all", {"x": "1"}, [rule("lost", "lost", "lost")], *selectors))
    assert aggregate(objects) == 1
    assert rules_of(objects, "all") == [first, second]
    assert aggregate(objects) == 0


def test_aggregated_roles_that_aggregate_each_other_settle() -> None:
    objects = Objects()
    c, d = rule("core", "c", "get"), rule("core", "d", "get")
    objects.put(CLUSTER_ROLES, role("c", {"a": "1"}, [c]))
    objects.put(CLUSTER_ROLES, role("d", {"b": "1"}, [d]))
    objects.put(CLUSTER_ROLES, role("a", {"b": "1"}, [], {"matchLabels": {"a": "1"}}))
    objects.put(CLUSTER_ROLES, role("b", {"a": "1"}, [], {"matchLabels": {"b": "1"}}))
    aggregate(objects)
    assert aggregate(objects) == 0
    assert {json.dumps(rule) for rule in rules_of(objects, "a")} == {json.dumps(c), json.dumps(d)}


@pytest.mark.parametrize("name", DIALECTS)
def test_the_built_in_roles_are_filled(name: str) -> None:
    objects = Objects()
    asyncio.run(reconcile_bootstrap_objects(DIALECTS[name], objects))
    aggregate(objects)
    sizes = [len(rules_of(objects, role)) for role in ("view", "edit", "admin")]
    assert sizes == [10, 23, 25]
