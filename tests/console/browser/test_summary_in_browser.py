"""The summary of an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support.browser import HOSTILE, PHONE, Visitor
from support.namespaces import Space
from support.simulation import Pods, behaviour

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
GUARDED = {"finalizers": ["example.com/guard"]}


def route(space: Space, plural: str, name: str, group: str = "core") -> str:
    return f"#/objects/{group}/{plural}/{space.name}/{name}"


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def press_delete(visitor: Visitor, kind: str) -> Locator:
    visitor.page.get_by_role("button", name=f"Delete this {kind}").click()
    return visitor.page.get_by_role("dialog")


def test_the_conditions_and_containers_of_a_pod_are_shown_as_they_change(
    visit: Visit, pods: Pods
) -> None:
    lines = f"first\n{HOSTILE}"
    pods.create("p", annotations=behaviour(never_ready="true", log=lines))
    pods.await_phase("Running")
    visitor = visit(pods.server, route(pods.space, "pods", "p"))
    ready = card(visitor, "Conditions").get_by_role("row").filter(has_text="Ready").last
    containers = card(visitor, "Containers")
    expect(ready).to_contain_text("✗ False")
    expect(containers).to_contain_text("running")
    expect(containers).to_contain_text("not ready, 0 restarts")
    log = card(visitor, "Log")
    expect(log).to_contain_text(HOSTILE)
    pods.collection.patch("p", {"metadata": {"annotations": behaviour(never_ready="false")}})
    expect(card(visitor, "Facts")).to_contain_text("Running")
    expect(containers).not_to_contain_text("not ready")
    expect(log).to_contain_text(HOSTILE)  # and stays
    expect(card(visitor, "Events")).to_contain_text("Scheduled")
    assert visitor.page.locator("main img").count() == 0
    visitor.picture("summary")
    assert visitor.findings() == []


def test_metadata_is_text_whatever_it_says(visit: Visit, cluster: Space) -> None:
    owner = cluster.config_maps.create("owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    cluster.secrets.create(
        "odd",
        labels={"tier": "front"},
        metadata={
            "annotations": {"example.com/note": HOSTILE},
            "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
            **GUARDED,
        },
    )
    visitor = visit(cluster.server, route(cluster, "secrets", "odd"))
    facts = card(visitor, "Facts")
    expect(facts).to_contain_text("tier=front")
    expect(facts).to_contain_text("example.com/guard")
    facts.locator("summary").click()
    expect(facts.get_by_text(HOSTILE)).to_be_visible()
    assert visitor.page.locator("main img").count() == 0
    facts.get_by_role("link", name="ConfigMap owner").click()
    expect(visitor.page.get_by_role("heading", name="ConfigMap owner")).to_be_visible()
    cluster.secrets.patch("odd", {"metadata": {"finalizers": None}})


def test_conditions_of_any_form_do_no_harm(visit: Visit, kubernetes: Space) -> None:
    """Those of custom kinds are what their authors like; here one takes the place of a text."""
    jobs = kubernetes.collection("jobs", "batch")
    pod = {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}
    jobs.create("j", spec={"suspend": True, "template": {"spec": pod}})
    conditions = [
        {"type": HOSTILE, "status": "Unknown", "message": HOSTILE},
        {"type": "Stalled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
    ]
    answer = kubernetes.client.patch(
        jobs.item("j", "status"), {"status": {"conditions": conditions}}
    )
    assert answer.status == 200, answer.text
    visitor = visit(kubernetes.server, route(kubernetes, "jobs", "j", "batch"))
    rows = card(visitor, "Conditions").get_by_role("row")
    expect(rows.filter(has_text=HOSTILE)).to_contain_text("Unknown")
    expect(rows.filter(has_text="Stalled")).to_contain_text("✗ True")
    assert visitor.page.locator("main img").count() == 0


def test_deleting_asks_first(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("doomed")
    visitor = visit(kubernetes.server, route(kubernetes, "configmaps", "doomed"))
    dialog = press_delete(visitor, "ConfigMap")
    expect(dialog).to_contain_text(f"Delete ConfigMap doomed in {kubernetes.name}?")
    expect(dialog).to_contain_text("Nothing else goes with it.")
    visitor.page.keyboard.press("Enter")  # keeps it
    expect(dialog).to_have_count(0)
    assert kubernetes.config_maps.get("doomed").status == 200
    press_delete(visitor, "ConfigMap").get_by_role("button", name="Delete", exact=True).click()
    expect(visitor.page.get_by_text("is deleted.")).to_be_visible()
    assert kubernetes.config_maps.get("doomed").status == 404


def test_deleting_tells_who_keeps_it(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("held", metadata=GUARDED)
    visitor = visit(kubernetes.server, route(kubernetes, "configmaps", "held"), viewport=PHONE)
    dialog = press_delete(visitor, "ConfigMap")
    expect(dialog).to_contain_text("It stays until these let go: example.com/guard")
    visitor.picture("deleting")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(visitor.page.get_by_text("held by example.com/guard").first).to_be_visible()
    kubernetes.config_maps.patch("held", {"metadata": {"finalizers": None}})


def test_what_the_user_may_not_do_is_told_in_place(visit: Visit, kubernetes: Space) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    group = "rbac.authorization.@"
    kubernetes.collection("roles", group).create("reader", rules=[rule])
    kubernetes.collection("rolebindings", group).create(
        "reader",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    )
    kubernetes.config_maps.create("kept")
    visitor = visit(kubernetes.server, route(kubernetes, "configmaps", "kept"), token="alice-token")
    events = card(visitor, "Events").get_by_role("alert")
    expect(events).to_contain_text('User "alice" cannot list resource "events"')
    expect(visitor.page.get_by_role("button", name="Delete this ConfigMap")).to_have_count(0)
