"""The summaries of workloads, pods, jobs, nodes and services: how an object is and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import HOSTILE, PHONE, Visitor
from support.client import Object
from support.namespaces import Collection, Space
from support.simulation import Pods, behaviour, container
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def route(space: Space, plural: str, name: str, group: str = "core") -> str:
    return f"#/objects/{group}/{plural}/{space.name}/{name}"


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def workload(name: str = "web", replicas: int = 2, *, image: str = "nginx:1", **how: str) -> Object:
    """The spec of a workload whose pods behave so."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": behaviour(**how)},
        "spec": {"containers": [container(image=image)]},
    }
    return {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}


def await_ready(workloads: Collection, name: str, count: int) -> None:
    def ready() -> bool:
        return bool(workloads.read(name).get("status", {}).get("readyReplicas", 0) == count)

    eventually(ready, f"{count} pods of {name} are ready")


def test_a_deployment_names_its_worst_pod_and_the_reason(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=workload(exit_code="3"))
    visitor = visit(pods.server, route(pods.space, "deployments", "web", "apps"))
    why = card(visitor, "Why it is not well")
    expect(why).to_contain_text("CrashLoopBackOff")
    expect(why).to_contain_text("c ended with exit code 3")
    expect(why).to_contain_text("(and 1 more like it)")
    expect(card(visitor, "Pods")).to_contain_text("2 CrashLoopBackOff")
    expect(card(visitor, "Rollout")).to_contain_text("0 of 2 ready")
    visitor.picture("deployment-unwell")
    assert visitor.findings() == []
    why.get_by_role("link", name=re.compile("^Pod web-")).click()
    expect(visitor.page.get_by_role("heading", name=re.compile("^Pod web-"))).to_be_visible()
    expect(why).to_contain_text("CrashLoopBackOff")


def test_a_deployment_goes_back_to_a_revision(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=workload(replicas=1, image="nginx:1"))
    await_ready(deployments, "web", 1)
    deployments.patch("web", {"spec": workload(replicas=1, image="nginx:2")})
    visitor = visit(pods.server, route(pods.space, "deployments", "web", "apps"))
    revisions = card(visitor, "Revisions")
    expect(revisions).to_contain_text("Revision 2")
    revisions.get_by_text("What changed with revision 2").click()
    change = visitor.page.get_by_role("region", name="What changed with revision 2")
    expect(change).to_contain_text("image: nginx:1")
    expect(change).to_contain_text("image: nginx:2")
    revisions.get_by_role("button", name="Go back to this: revision 1").click()
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog).to_contain_text(
        f"kubectl rollout undo deployment/web --to-revision=1 --namespace {pods.space.name}"
    )
    visitor.picture("revisions")
    dialog.get_by_role("button", name="Go back to this").click()
    expect(revisions).to_contain_text("Revision 3")
    expect(card(visitor, "Rollout")).to_contain_text("c: nginx:1")
    assert pods.space.collection("replicasets", "apps").names() != []


def test_a_pod_shows_where_it_runs_and_all_of_its_containers(visit: Visit, pods: Pods) -> None:
    pods.space.config_maps.create("settings", data={"LEVEL": "debug"})
    named = {"configMapKeyRef": {"name": "settings", "key": "LEVEL"}}
    one = container(
        env=[{"name": "LEVEL", "valueFrom": named}, {"name": "TEXT", "value": HOSTILE}],
        volumeMounts=[{"name": "conf", "mountPath": "/etc/conf"}],
        resources={"requests": {"cpu": "10m"}},
    )
    volumes = [{"name": "conf", "configMap": {"name": "settings"}}]
    pods.create("p", one, volumes=volumes)
    pods.await_ready()
    visitor = visit(pods.server, route(pods.space, "pods", "p"))
    expect(card(visitor, "Place").get_by_role("link", name=pods.node_of())).to_be_visible()
    expect(card(visitor, "Place")).to_contain_text(pods.status()["podIP"])
    containers = card(visitor, "Containers")
    expect(containers).to_contain_text("cpu 10m")
    expect(containers).to_contain_text("LEVEL = LEVEL of settings")
    expect(containers).to_contain_text(f"TEXT = {HOSTILE}")
    expect(containers).to_contain_text("/etc/conf ← ConfigMap settings")
    assert visitor.page.locator("main img").count() == 0
    visitor.picture("pod")
    containers.get_by_role("link", name="settings").first.click()
    expect(visitor.page.get_by_role("heading", name="ConfigMap settings")).to_be_visible()
    expect(card(visitor, "Data")).to_contain_text("debug")


def test_a_log_is_followed_searched_and_of_all_containers(visit: Visit, pods: Pods) -> None:
    notes = behaviour(log=f"first\n{HOSTILE}")
    pods.create("p", container("a"), container("b"), annotations=notes)
    pods.await_ready()
    visitor = visit(pods.server, route(pods.space, "pods", "p"), viewport=PHONE)
    lines = card(visitor, "Log").get_by_role("region", name="Lines")
    expect(lines).to_contain_text("a  first")
    expect(lines).to_contain_text(f"b  {HOSTILE}")
    assert visitor.page.locator("main img").count() == 0
    visitor.page.get_by_label("Container", exact=True).select_option("b")
    expect(lines).not_to_contain_text("a  first")
    visitor.page.get_by_label("Search the log").fill("FIRST")
    expect(lines.locator("mark")).to_have_text("first")
    expect(lines).not_to_contain_text("img")
    visitor.picture("log-phone")
    assert visitor.findings() == []


def test_a_pod_says_which_config_it_waits_for(visit: Visit, pods: Pods) -> None:
    named = {"secretKeyRef": {"name": "nowhere", "key": "x"}}
    pods.create("p", container(env=[{"name": "X", "valueFrom": named}]))
    visitor = visit(pods.server, route(pods.space, "pods", "p"))
    expect(card(visitor, "Why it is not well")).to_contain_text("Secret nowhere is not there")
    pods.space.secrets.create("nowhere", stringData={"x": "1"})
    expect(card(visitor, "Why it is not well")).to_be_hidden()


def test_a_node_shows_what_is_asked_of_it(visit: Visit, pods: Pods) -> None:
    pods.create("p", container(resources={"requests": {"cpu": "500m", "memory": "256Mi"}}))
    pods.await_ready()
    node = pods.node_of()
    visitor = visit(pods.server, f"#/objects/core/nodes/-/{node}")
    meter = card(visitor, "Room").get_by_role("meter", name="cpu")
    expect(meter).to_have_attribute("aria-valuetext", re.compile(r"asked for \(\d+ %\)$"))
    expect(card(visitor, "Pods").get_by_role("link", name=re.compile("^p: "))).to_have_count(1)
    expect(card(visitor, "Machine")).to_contain_text("InternalIP")
    visitor.picture("node")
    assert visitor.findings() == []


def ports(**selector: str) -> dict[str, Any]:
    return {"selector": selector, "ports": [{"port": 80}]}


def test_a_service_says_who_is_behind_it_and_why_nobody_is(visit: Visit, pods: Pods) -> None:
    services = pods.space.collection("services")
    services.create("good", spec=ports(app="web"))
    services.create("lost", spec=ports(app="web", tier="front"))
    pods.create("p", labels={"app": "web"})
    pods.await_ready()
    visitor = visit(pods.server, route(pods.space, "services", "good"))
    behind = visitor.page.get_by_role("table", name="Endpoints")
    expect(
        behind.get_by_role("row").filter(has=visitor.page.get_by_role("link", name="p"))
    ).to_contain_text("ready")
    expect(card(visitor, "Why it is not well")).to_be_hidden()
    visitor.go(route(pods.space, "services", "lost"))
    why = card(visitor, "Why it is not well")
    expect(why).to_contain_text("No pod in this namespace has the labels app=web, tier=front.")
    expect(why).to_contain_text("Pod p: nearly, but it has no label tier")
    visitor.picture("service-nobody")


def test_jobs_show_their_runs_on_an_axis(visit: Visit, pods: Pods) -> None:
    template = {
        "metadata": {"annotations": behaviour(exit_code="1")},
        "spec": {"containers": [container()], "restartPolicy": "Never"},
    }
    jobs = pods.space.collection("jobs", "batch")
    jobs.create("j", spec={"backoffLimit": 0, "template": template})
    visitor = visit(pods.server, route(pods.space, "jobs", "j", "batch"))
    runs = visitor.page.get_by_role("table", name="Runs")
    expect(runs.get_by_role("row")).to_have_count(1)
    expect(runs).to_contain_text("took")
    expect(card(visitor, "Why it is not well")).to_contain_text("Failed is True")
    expect(card(visitor, "Why it is not well")).to_contain_text("exit code 1")
    visitor.picture("job-runs")
