"""Garbage collection: dependents are deleted after their owners, before them, or orphaned."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.owners import (
    Widgets,
    await_deletion,
    blocking,
    depend,
    is_going,
    owners,
    reference,
    release,
)
from support.running import run_pod
from support.waiting import eventually

HELD = ["example.com/hold"]
NOBODY = "11111111-2222-3333-4444-555555555555"


def owned_object(value: Object, api_version: str, kind: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, **value}


class TestBackground:
    def test_dependents_and_their_dependents_go_after_the_owner(self, space: Space) -> None:
        secrets = space.secrets
        owner = space.config_maps.create("owner")
        child = depend(secrets, "child", reference(owner))
        depend(secrets, "grandchild", reference(child))
        space.config_maps.remove("owner")
        assert space.config_maps.get("owner").status == 404
        await_deletion(secrets, "child", "grandchild")

    def test_dependents_of_others_stay(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner, other = secrets.create_all("owner", "other")
        depend(secrets, "child", reference(owner))
        depend(secrets, "stranger", reference(other))
        secrets.remove("owner")
        await_deletion(secrets, "child")
        assert not is_going(secrets, "stranger")

    def test_what_is_created_for_an_owner_that_went_goes(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        secrets.remove("owner")
        depend(secrets, "late", reference(owner))
        await_deletion(secrets, "late")

    def test_what_is_given_to_an_owner_that_went_goes(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        secrets.remove("owner")
        secrets.create("given")
        patch = {"metadata": {"ownerReferences": [reference(owner)]}}
        assert secrets.patch("given", patch).status == 200
        await_deletion(secrets, "given")

    def test_an_owner_that_went_is_let_go_of_while_another_is_there(
        self, kubernetes: Space
    ) -> None:
        secrets = kubernetes.secrets
        first, second = secrets.create_all("one", "two")
        depend(secrets, "child", reference(first), reference(second))
        secrets.remove("one")
        eventually(lambda: owners(secrets, "child") == ["two"], "the other owner is left")
        secrets.remove("two")
        await_deletion(secrets, "child")

    def test_circle_of_owners_goes_in_background_deletion(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        secret = secrets.create("one")
        two = depend(secrets, "two", reference(secret))
        patch = {"metadata": {"ownerReferences": [reference(two)]}}
        assert secrets.patch("one", patch).status == 200
        secrets.remove("one")
        await_deletion(secrets, "one", "two")

    def test_a_finalizer_of_a_dependent_decides_what_becomes_of_its_own(
        self, kubernetes: Space
    ) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        child = depend(secrets, "child", reference(owner), finalizers=["orphan"])
        depend(secrets, "grandchild", reference(child))
        secrets.remove("owner")
        await_deletion(secrets, "child")
        assert owners(secrets, "grandchild") == []


class TestForeground:
    def test_the_owner_waits_for_dependents_that_block_it(self, space: Space) -> None:
        secrets = space.secrets
        owner = space.config_maps.create("owner")
        depend(secrets, "child", blocking(owner), finalizers=HELD)
        space.config_maps.delete("owner", propagationPolicy="Foreground")
        eventually(lambda: is_going(secrets, "child"), "the dependent is deleted")
        waiting = space.config_maps.read("owner")["metadata"]
        assert waiting["finalizers"] == ["foregroundDeletion"]
        release(secrets, "child")
        await_deletion(space.config_maps, "owner")
        assert secrets.get("child").status == 404

    def test_those_that_depend_on_dependents_go_first(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        child = depend(secrets, "child", blocking(owner))
        depend(secrets, "grandchild", blocking(child))
        with secrets.watch(resourceVersion=secrets.version()) as watch:
            secrets.delete("owner", propagationPolicy="Foreground")
            seen: list[str] = []
            while "owner" not in seen:
                event = watch.next()
                if event.type == "DELETED":
                    seen.append(event.name)
        assert seen == ["grandchild", "child", "owner"]

    def test_dependents_that_do_not_block_go_too(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        depend(secrets, "child", reference(owner), finalizers=HELD)
        secrets.delete("owner", propagationPolicy="Foreground")
        await_deletion(secrets, "owner")
        eventually(lambda: is_going(secrets, "child"), "the dependent is deleted")
        release(secrets, "child")

    def test_a_dependent_that_stops_blocking_lets_the_owner_go(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        depend(secrets, "child", blocking(owner), finalizers=HELD)
        secrets.delete("owner", propagationPolicy="Foreground")
        eventually(lambda: is_going(secrets, "child"), "the dependent is deleted")
        patch = {"metadata": {"ownerReferences": [reference(owner)]}}
        assert secrets.patch("child", patch).status == 200
        await_deletion(secrets, "owner")
        release(secrets, "child")

    def test_a_background_delete_ends_the_waiting(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        depend(secrets, "child", blocking(owner), finalizers=HELD)
        secrets.delete("owner", propagationPolicy="Foreground")
        secrets.delete("owner", propagationPolicy="Background")
        assert secrets.get("owner").status == 404
        release(secrets, "child")

    def test_a_dependent_of_another_owner_too_is_let_go(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        first, second = secrets.create_all("one", "two")
        depend(secrets, "child", blocking(first), blocking(second))
        secrets.delete("one", propagationPolicy="Foreground")
        await_deletion(secrets, "one")
        assert owners(secrets, "child") == ["two"]
        assert not is_going(secrets, "child")

    def test_a_circle_does_not_wait_for_itself(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        secret = secrets.create("one")
        two = depend(secrets, "two", blocking(secret))
        assert (
            secrets.patch("one", {"metadata": {"ownerReferences": [blocking(two)]}}).status == 200
        )
        secrets.delete("one", propagationPolicy="Foreground")
        await_deletion(secrets, "one", "two")

    @pytest.mark.parametrize("size", [2, 5])
    def test_a_circle_goes_if_all_of_it_is_to_wait(self, kubernetes: Space, size: int) -> None:
        secrets = kubernetes.secrets
        ring = [secrets.create(f"ring-{n}") for n in range(size)]
        for n, owner in enumerate(ring):
            after = ring[(n + 1) % size]["metadata"]["name"]
            patch = {"metadata": {"ownerReferences": [blocking(owner)]}}
            assert secrets.patch(after, patch).status == 200
        answer = kubernetes.client.delete(secrets.path, propagationPolicy="Foreground")
        assert answer.status == 200
        await_deletion(secrets, *(item["metadata"]["name"] for item in ring))

    @pytest.mark.parametrize("policy", ["Background", "Foreground"])
    def test_an_owner_of_its_own_goes(self, kubernetes: Space, policy: str) -> None:
        secrets = kubernetes.secrets
        secret = secrets.create("one")
        assert (
            secrets.patch("one", {"metadata": {"ownerReferences": [blocking(secret)]}}).status
            == 200
        )
        secrets.delete("one", propagationPolicy=policy)
        await_deletion(secrets, "one")


class TestOrphan:
    def test_dependents_stay_without_the_owner(self, space: Space) -> None:
        secrets = space.secrets
        owner = space.config_maps.create("owner")
        other = space.config_maps.create("other")
        depend(secrets, "child", reference(owner), reference(other))
        depend(secrets, "only", reference(owner))
        space.config_maps.delete("owner", propagationPolicy="Orphan")
        await_deletion(space.config_maps, "owner")
        assert owners(secrets, "child") == ["other"]
        assert "ownerReferences" not in secrets.read("only")["metadata"]
        assert not is_going(secrets, "child")

    @pytest.mark.parametrize(
        ("resource", "group", "kind"),
        [("jobs", "batch", "Job"), ("replicationcontrollers", "", "ReplicationController")],
    )
    def test_some_kinds_leave_their_pods_unless_told_otherwise(
        self, kubernetes: Space, resource: str, group: str, kind: str
    ) -> None:
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        spec: Object = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}
        if kind != "Job":
            pod["restartPolicy"] = "Always"
            spec |= {"replicas": 0, "selector": {"a": "b"}}
        workloads = kubernetes.collection(resource, group)
        kept, taken = (workloads.create(name, spec=spec) for name in ("kept", "taken"))
        depend(kubernetes.secrets, "left", reference(kept))
        depend(kubernetes.secrets, "lost", reference(taken))
        workloads.delete("kept")
        workloads.delete("taken", propagationPolicy="Background")
        await_deletion(workloads, "kept", "taken")
        await_deletion(kubernetes.secrets, "lost")
        assert owners(kubernetes.secrets, "left") == []


class TestWrongOwners:
    @pytest.mark.parametrize(
        "wrong",
        [{"uid": NOBODY}, {"name": "nobody"}, {"kind": "ConfigMap"}],
        ids=["uid", "name", "kind"],
    )
    def test_a_dependent_of_nobody_goes(self, kubernetes: Space, wrong: Object) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        depend(secrets, "child", reference(owner) | wrong)
        await_deletion(secrets, "child")
        assert not is_going(secrets, "owner")

    def test_a_wrong_owner_is_let_go_of_while_a_right_one_is_there(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        owner = secrets.create("owner")
        wrong = {**reference(owner), "name": "nobody", "uid": NOBODY}
        depend(secrets, "child", reference(owner), wrong)
        eventually(lambda: owners(secrets, "child") == ["owner"], "the wrong one is removed")

    def test_an_owner_of_an_unknown_kind_keeps_its_dependent_until_it_is_served(
        self, kubernetes: Space
    ) -> None:
        secrets = kubernetes.secrets
        widgets = Widgets(kubernetes)
        unknown = {"apiVersion": widgets.api_version, "kind": "Widget", "name": "w", "uid": NOBODY}
        depend(secrets, "child", {**unknown, "name": "v", "uid": f"{NOBODY}-2"}, unknown)
        depend(secrets, "marker", {**unknown, "apiVersion": "v1", "kind": "Secret"})
        await_deletion(secrets, "marker")  # which came later
        patch = {"metadata": {"ownerReferences": [unknown]}}
        assert secrets.patch("child", patch).status == 200
        assert not is_going(secrets, "child")
        widgets.install()
        await_deletion(secrets, "child")

    def test_an_owner_in_another_namespace_is_none(self, space: Space) -> None:
        elsewhere = Space(space.server, space.client)
        owner = elsewhere.secrets.create("owner")
        depend(space.secrets, "child", reference(owner))
        await_deletion(space.secrets, "child")
        uid = owner["metadata"]["uid"]
        assert first_event(space, space.name, "child") == {
            "type": "Warning",
            "reason": "OwnerRefInvalidNamespace",
            "message": f"ownerRef [v1/Secret, namespace: {space.name}, name: owner, uid: {uid}]"
            f' does not exist in namespace "{space.name}"',
            "source": {"component": "garbage-collector-controller"},
        }
        assert not is_going(elsewhere.secrets, "owner")

    def test_what_has_no_namespace_cannot_have_an_owner_in_one(self, kubernetes: Space) -> None:
        roles = kubernetes.everywhere("clusterroles", "rbac.authorization.@")
        owner = kubernetes.secrets.create("owner")
        depend(roles, kubernetes.name, reference(owner))
        value = first_event(kubernetes, "default", kubernetes.name)
        assert value["reason"] == "OwnerRefInvalidNamespace"
        assert value["message"].endswith(' does not exist in namespace ""')
        kubernetes.secrets.remove("owner")
        depend(kubernetes.secrets, "marker", reference(owner))
        await_deletion(kubernetes.secrets, "marker")
        assert not is_going(roles, kubernetes.name)
        roles.remove(kubernetes.name)


def first_event(space: Space, namespace: str, name: str) -> dict[str, Any]:
    """The first event about an object."""
    path = f"/api/v1/namespaces/{namespace}/events"
    selector = f"involvedObject.name={name}"
    eventually(
        lambda: bool(space.client.get(path, fieldSelector=selector).names), "an event is written"
    )
    event = space.client.get(path, fieldSelector=selector).body["items"][0]
    return {part: event[part] for part in ("type", "reason", "message", "source")}


class TestEveryResource:
    def test_owners_without_a_namespace(self, space: Space) -> None:
        roles = space.everywhere("clusterroles", "rbac.authorization.@")
        owner = roles.create(f"{space.name}-owner")
        depend(roles, f"{space.name}-child", reference(owner))
        depend(space.secrets, "child", reference(owner))
        roles.remove(f"{space.name}-owner")
        await_deletion(roles, f"{space.name}-child")
        await_deletion(space.secrets, "child")

    def test_an_owner_may_be_named_in_any_version_that_is_served(self, kubernetes: Space) -> None:
        secrets = kubernetes.secrets
        scalers = kubernetes.collection("horizontalpodautoscalers", "autoscaling", "v2")
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        owner = scalers.create("owner", spec={"maxReplicas": 3, "scaleTargetRef": target})
        for version in ("v1", "v2", "v2beta2"):
            depend(secrets, version, reference(owner) | {"apiVersion": f"autoscaling/{version}"})
        depend(secrets, "v3", reference(owner) | {"apiVersion": "autoscaling/v3"})
        depend(secrets, "marker", reference(owner, uid=NOBODY))
        await_deletion(secrets, "marker")
        assert {"v1", "v2", "v2beta2", "v3"} <= set(secrets.names())
        scalers.remove("owner")
        await_deletion(secrets, "v1", "v2", "v2beta2", "v3")

    def test_pods_have_their_time_to_end(self, kubernetes: Space) -> None:
        kubernetes.ready_for_pods()
        pods = kubernetes.collection("pods")
        owner = kubernetes.secrets.create("owner")
        run_pod(kubernetes, "p", node="some-node")
        assert pods.patch("p", {"metadata": {"ownerReferences": [blocking(owner)]}}).status == 200
        kubernetes.secrets.delete("owner", propagationPolicy="Foreground")
        eventually(lambda: is_going(pods, "p"), "the pod is deleted")
        assert pods.read("p")["metadata"]["deletionGracePeriodSeconds"] == 30
        assert kubernetes.secrets.get("owner").status == 200
        pods.delete("p", gracePeriodSeconds="0")
        await_deletion(kubernetes.secrets, "owner")

    def test_templates_that_name_owners_are_no_dependents(self, kubernetes: Space) -> None:
        revisions = kubernetes.collection("controllerrevisions", "apps")
        nobody = {"apiVersion": "v1", "kind": "Secret", "name": "n", "uid": NOBODY}
        data = {"metadata": {"ownerReferences": [nobody], "deletionTimestamp": "long ago"}}
        revisions.create("template", revision=1, data=data)
        depend(kubernetes.secrets, "marker", nobody)
        await_deletion(kubernetes.secrets, "marker")
        assert not is_going(revisions, "template")


class TestCustomResources:
    def test_custom_resources_own_and_are_owned(self, space: Space) -> None:
        widgets = Widgets(space).install()
        owner = widgets.create("owner")
        child = widgets.create("child", ownerReferences=[blocking(owner)])
        depend(space.secrets, "grandchild", blocking(child), finalizers=HELD)
        widgets.collection.delete("owner", propagationPolicy="Foreground")
        eventually(lambda: is_going(space.secrets, "grandchild"), "the last is deleted")
        assert widgets.collection.read("owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
        release(space.secrets, "grandchild")
        await_deletion(widgets.collection, "child", "owner")
        widgets.definitions.remove(widgets.name)

    def test_dependents_of_custom_resources_go_with_their_definition(
        self, kubernetes: Space
    ) -> None:
        widgets = Widgets(kubernetes).install()
        for name in "abc":
            depend(kubernetes.secrets, name, reference(widgets.create(name)))
        depend(kubernetes.secrets, "d", reference(widgets.definitions.read(widgets.name)))
        widgets.definitions.remove(widgets.name)
        await_deletion(kubernetes.secrets, "a", "b", "c", "d")

    def test_a_definition_that_is_served_anew_is_followed_anew(self, kubernetes: Space) -> None:
        for round_ in ("first", "second"):
            widgets = Widgets(kubernetes, "Cluster").install()
            depend(kubernetes.secrets, round_, reference(widgets.create("owner")))
            widgets.collection.remove("owner")
            await_deletion(kubernetes.secrets, round_)
            widgets.definitions.remove(widgets.name)
            await_deletion(widgets.definitions, widgets.name)

    def test_a_definition_that_is_not_served_for_a_while(self, kubernetes: Space) -> None:
        widgets = Widgets(kubernetes).install()
        path = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
        owner = widgets.create("owner")
        for served in (False, True):
            path[0]["value"] = served
            answer = kubernetes.client.patch(
                widgets.definitions.item(widgets.name), path, kind="application/json-patch+json"
            )
            assert answer.status == 200, answer.text
        eventually(lambda: widgets.collection.get("owner").status == 200, "it is served again")
        depend(kubernetes.secrets, "child", reference(owner))
        widgets.collection.remove("owner")
        await_deletion(kubernetes.secrets, "child")
        widgets.definitions.remove(widgets.name)
