"""The overview of the cluster, problems first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import HOSTILE, PHONE, Visitor
from support.namespaces import Space
from support.process import FreshServer
from support.simulation import Pods, asking, behaviour

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def row(visitor: Visitor, title: str, text: str) -> Locator:
    return card(visitor, title).get_by_role("row").filter(has_text=text)


def verdict(visitor: Visitor) -> Locator:
    return visitor.page.locator("main").get_by_role("status")


def test_pods_that_do_not_run_are_told_with_the_reason(visit: Visit, pods: Pods) -> None:
    pods.create("heavy", asking(cpu="4000"))
    pods.create("broken", annotations=behaviour(exit_code="3", exit_after="0s"))
    pods.create("unpulled", annotations=behaviour(image_pull_failure="no such thing"))
    pods.create("fine")
    pods.await_ready("fine")
    visitor = visit(pods.server, namespace=pods.space.name)
    title = "Pods that do not run"
    expect(row(visitor, title, "heavy")).to_contain_text("Unschedulable")
    expect(row(visitor, title, "heavy")).to_contain_text("Insufficient cpu")
    expect(row(visitor, title, "broken")).to_contain_text("exit code 3")
    expect(row(visitor, title, "unpulled")).to_contain_text("ImagePull")
    expect(row(visitor, title, "fine")).to_have_count(0)
    expect(row(visitor, "Recent warnings", "heavy")).to_contain_text("FailedScheduling")
    visitor.picture("overview")
    row(visitor, title, "heavy").get_by_role("link").click()
    expect(visitor.page.get_by_role("heading", name="Pod heavy")).to_be_visible()


def test_what_becomes_wrong_and_right_again_shows_without_asking(
    visit: Visit, fresh_server: FreshServer
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    visitor = visit(server, in_new_tab=True)
    expect(verdict(visitor)).to_have_text("nothing is wrong")
    claims = space.collection("persistentvolumeclaims")
    claims.create(
        "waiting",
        spec={
            **{"accessModes": ["ReadWriteOnce"], "storageClassName": "none"},
            "resources": {"requests": {"storage": "1Gi"}},
        },
    )
    jobs = space.collection("jobs", "batch")
    pod = {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}
    jobs.create("failing", spec={"template": {"spec": pod}})
    failed = [{"type": "Failed", "status": "True", "reason": "Deadline", "message": "too late"}]
    client = space.client
    assert client.patch(jobs.item("failing", "status"), {"status": {"conditions": failed}}).body
    expect(row(visitor, "Claims and volumes", "waiting")).to_contain_text("Pending")
    expect(row(visitor, "Jobs that failed", "failing")).to_contain_text("too late")
    expect(verdict(visitor)).to_have_text("2 things are wrong")
    claims.remove("waiting")
    jobs.remove("failing")
    expect(verdict(visitor)).to_have_text("nothing is wrong")
    expect(card(visitor, "Claims and volumes")).to_be_hidden()


def test_a_held_deletion_names_who_holds_it(visit: Visit, cluster: Space) -> None:
    visitor = visit(cluster.server, namespace=cluster.name)
    expect(verdict(visitor)).to_contain_text("wrong")
    cluster.config_maps.create("held", metadata={"finalizers": ["example.com/guard"]})
    cluster.config_maps.remove("held")
    locator = row(visitor, "Deletions that are held up", "held")
    expect(locator).to_contain_text("held by example.com/guard")
    cluster.config_maps.patch("held", {"metadata": {"finalizers": None}})
    expect(locator).to_have_count(0)


def test_a_pod_in_its_grace_period_is_not_held_up(visit: Visit, space: Space) -> None:
    space.ready_for_pods()
    pods = space.collection("pods")
    # A node of its own: pods of a node that was missing for 40 s are deleted.
    spec = {"nodeName": f"gone-{space.name}", "containers": [{"name": "c", "image": "i"}]}
    for name, seconds in (("patient", 600), ("late", 1)):
        pods.create(name, spec={**spec, "terminationGracePeriodSeconds": seconds})
        pods.remove(name)
    visitor = visit(space.server, namespace=space.name)
    title = "Deletions that are held up"
    expect(row(visitor, title, "late")).to_have_count(1)
    expect(row(visitor, title, "patient")).to_have_count(0)


def test_a_namespace_that_does_not_end_says_what_remains(visit: Visit, kubernetes: Space) -> None:
    held = {"finalizers": ["example.com/guard"]}
    kubernetes.config_maps.create("held", metadata=held)
    assert kubernetes.client.delete(f"/api/v1/namespaces/{kubernetes.name}").status == 200
    visitor = visit(kubernetes.server)
    try:
        locator = row(visitor, "Deletions that are held up", f"Namespace {kubernetes.name}")
        expect(locator).to_contain_text("example.com/guard in 1 resource instances")
    finally:
        kubernetes.config_maps.patch("held", {"metadata": {"finalizers": None}})


def test_a_workload_with_fewer_ready_than_wanted_is_told(visit: Visit, cluster: Space) -> None:
    pod = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": pod}
    cluster.collection("deployments", "apps").create("web", spec=spec)
    visitor = visit(cluster.server, namespace=cluster.name)
    locator = row(visitor, "Workloads with fewer ready than wanted", "Deployment")
    expect(locator).to_contain_text("0 of 2 ready")
    expect(row(visitor, "Workloads with fewer ready than wanted", "ReplicaSet")).to_have_count(0)


def test_what_changes_is_told_with_who_did_it(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    kubernetes.config_maps.create("noted")
    listed = card(visitor, "Recent changes").get_by_role("listitem").filter(has_text="noted")
    expect(listed).to_contain_text("created")
    expect(listed).to_contain_text("by admin")
    expect(card(visitor, "Objects").get_by_role("link", name="ConfigMap")).to_be_visible()
    kubernetes.config_maps.remove("noted")
    expect(listed.first).to_contain_text("deleted")


def test_denied_requests_are_told(visit: Visit, cluster: Space) -> None:
    alice = cluster.client.clone("alice-token")
    assert alice.delete(cluster.config_maps.item(HOSTILE.replace(" ", "%20"))).status == 403
    visitor = visit(cluster.server)
    locator = row(visitor, "Requests that were denied", HOSTILE)
    expect(locator.first).to_contain_text("alice")
    expect(locator.first).to_contain_text("delete configmaps")
    alice.close()


def test_whoever_may_see_nothing_is_told_so_and_not_denied_over_and_over(
    visit: Visit, fresh_server: FreshServer
) -> None:
    server = fresh_server()
    visitor = visit(server, token="alice-token", in_new_tab=True)
    expect(verdict(visitor)).to_have_text("you may not look at anything here")
    expect(card(visitor, "Not looked at")).to_contain_text("pods")
    expect(card(visitor, "Health")).to_contain_text("the server is ready")
    denied = server.client().get("/history/denied").body["items"]
    assert [item for item in denied if item["user"] == "alice"] == []
    visitor.picture("overview-without-rights")


def test_events_are_text_whatever_they_say(visit: Visit, kubernetes: Space) -> None:
    about = {"kind": "ConfigMap", "apiVersion": "v1", "name": HOSTILE, "namespace": kubernetes.name}
    kubernetes.collection("events").create(
        "odd",
        type="Warning",
        reason=HOSTILE,
        message=f"{HOSTILE} said",
        involvedObject=about,
    )
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    expect(row(visitor, "Recent warnings", f"{HOSTILE} said")).to_be_visible()
    assert visitor.page.locator("main img").count() == 0


def test_focus_stays_while_things_change(visit: Visit, kubernetes: Space) -> None:
    for name in ("one", "two"):
        kubernetes.config_maps.create(name, metadata={"finalizers": ["example.com/guard"]})
        kubernetes.config_maps.remove(name)
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    title = "Deletions that are held up"
    link = row(visitor, title, "/two").get_by_role("link")
    link.focus()
    kubernetes.config_maps.patch("one", {"metadata": {"finalizers": None}})
    expect(row(visitor, title, "/one")).to_have_count(0)
    expect(link).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_role("heading", name="ConfigMap two")).to_be_visible()
    kubernetes.config_maps.patch("two", {"metadata": {"finalizers": None}})


def test_it_can_be_read_on_a_phone_and_by_everybody(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("held", metadata={"finalizers": ["example.com/guard"]})
    kubernetes.config_maps.remove("held")
    visitor = visit(kubernetes.server, namespace=kubernetes.name, viewport=PHONE)
    expect(row(visitor, "Deletions that are held up", "held")).to_be_visible()
    assert visitor.page.evaluate("() => document.querySelector('main').scrollWidth") <= 390
    visitor.picture("overview-phone")
    kubernetes.config_maps.patch("held", {"metadata": {"finalizers": None}})
    assert visitor.findings() == []
