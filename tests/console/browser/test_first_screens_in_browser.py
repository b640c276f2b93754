"""What is asked most is on the first screen, also where much is there and much is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import PHONE, Visitor
from support.client import Object
from support.definitions import Kind, version
from support.namespaces import Space
from support.simulation import Pods, behaviour, container
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

Visit = Callable[..., Visitor]
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def card(visitor: Visitor, title: str) -> Locator:
    return visitor.page.get_by_role("region", name=title, exact=True)


def row(visitor: Visitor, text: str) -> Locator:
    return visitor.page.get_by_role("row").filter(has_text=text)


def workload(name: str, replicas: int, **how: str) -> Object:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": behaviour(**how)},
        "spec": {"containers": [container()]},
    }
    return {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}


def loose_kind(space: Space) -> Kind:
    """A custom kind whose objects may have any fields."""
    fields = {"openAPIV3Schema": ANYTHING}
    return Kind(space, version(schema=fields, subresources={"status": {}})).install()


def unready(kind: Kind, name: str, **spec: Any) -> None:
    """Create an object of a custom kind that says why it is not ready."""
    objects = kind.collection()
    body: Object = {"apiVersion": f"{kind.group}/v1", "kind": kind.kind}
    objects.create(name, **body, spec=spec)
    ready = {"type": "Ready", "status": "False", "message": "98 % full", "lastTransitionTime": "?"}
    answer = objects.client.patch(objects.item(name, "status"), {"status": {"conditions": [ready]}})
    assert answer.status == 200, answer.text


def test_pods_of_one_owner_that_fail_alike_are_one_row(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=workload("web", 3, image_pull_failure="no such thing"))
    pods.create("alone", annotations=behaviour(exit_code="3", exit_after="0s"))
    visitor = visit(pods.server, namespace=pods.space.name)
    failing = card(visitor, "Pods that do not run")
    expect(failing.get_by_role("row").filter(has_text="web-")).to_have_count(1)
    expect(failing).to_contain_text("and 2 more like it")
    expect(failing).to_contain_text("back-off")
    expect(failing).not_to_contain_text("pod=alone")


def test_each_thing_that_is_wrong_is_one_click_away(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("held", metadata={"finalizers": ["example.com/guard"]})
    kubernetes.config_maps.remove("held")
    visitor = visit(kubernetes.server, namespace=kubernetes.name, viewport=PHONE)
    parts = visitor.page.get_by_role("group", name="What is wrong")
    parts.get_by_role("button", name=re.compile("^[0-9]+ deletions?$")).click()
    expect(card(visitor, "Deletions that are held up")).to_be_focused()
    expect(row(visitor, "held by example.com/guard").first).to_be_in_viewport()
    kubernetes.config_maps.patch("held", {"metadata": {"finalizers": None}})


def test_a_custom_object_that_is_not_well_is_on_the_overview(
    visit: Visit, kubernetes: Space
) -> None:
    unready(loose_kind(kubernetes), "orders")
    visitor = visit(kubernetes.server, namespace=kubernetes.name)
    others = card(visitor, "Other objects that are not well")
    expect(others.get_by_role("row").filter(has_text="orders")).to_contain_text("98 % full")


def test_a_custom_object_is_related_to_what_it_names(visit: Visit, kubernetes: Space) -> None:
    kind = loose_kind(kubernetes)
    kubernetes.secrets.create("keys")
    kubernetes.config_maps.create("settings")
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}
    unready(kind, "orders", auth={"passwordSecretRef": {"name": "keys"}}, targetRef=target)
    visitor = visit(
        kubernetes.server, f"#/objects/{kind.group}/{kind.plural}/{kubernetes.name}/orders"
    )
    expect(card(visitor, "Related")).to_contain_text("it reads Secret keys")
    expect(card(visitor, "Related")).to_contain_text("it uses ConfigMap settings")
    expect(card(visitor, "Conditions")).to_contain_text("98 % full")
    visitor.go(f"#/objects/core/secrets/{kubernetes.name}/keys/related")
    boxes = visitor.page.get_by_role("list", name="Related objects")
    expect(boxes).to_contain_text("orders")


def test_a_list_marks_what_is_not_ready(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=workload("web", 2, never_ready="true"))
    deployments.create("fine", spec=workload("fine", 1))
    eventually(
        lambda: deployments.read("fine").get("status", {}).get("readyReplicas") == 1, "it is ready"
    )
    visitor = visit(pods.server, "#/kinds/apps/deployments", namespace=pods.space.name)
    expect(row(visitor, "web").locator(".warn")).to_have_text("0/2")
    expect(row(visitor, "fine")).to_contain_text("1/1")
    expect(row(visitor, "fine").locator(".warn")).to_have_count(0)


def test_a_list_that_one_may_not_see_says_why(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(
        kubernetes.server, "#/kinds/core/secrets", token="alice-token", namespace=kubernetes.name
    )
    expect(visitor.page.get_by_role("alert")).to_contain_text("secrets is forbidden")
    expect(visitor.page.get_by_role("grid")).to_be_hidden()
    assert visitor.findings() == []
    visitor.page.get_by_role("link", name="Why not?").click()
    expect(visitor.page.get_by_text("may not list secrets")).to_be_visible()


def test_pods_of_a_workload_are_named_with_their_state(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=workload("web", 2, image_pull_failure="no such thing"))
    visitor = visit(pods.server, f"#/objects/apps/deployments/{pods.space.name}/web")
    named = card(visitor, "Pods").locator(".named-pods li")
    expect(named).to_have_count(2)
    expect(named.first).to_contain_text("ImagePull")
    named.first.get_by_role("link").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_contain_text("Pod web-")


def test_the_log_of_a_pod_that_fails_is_on_its_first_screen(visit: Visit, pods: Pods) -> None:
    pods.create("p", annotations=behaviour(log="FATAL: no key", exit_code="3", exit_after="0s"))
    visitor = visit(pods.server, f"#/objects/core/pods/{pods.space.name}/p")
    line = card(visitor, "Log").get_by_text("FATAL: no key")
    expect(line).to_be_in_viewport()
    expect(card(visitor, "Why it is not well")).to_be_in_viewport()


def test_what_is_gone_leads_to_its_history(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    kubernetes.config_maps.remove("a")
    visitor = visit(kubernetes.server, f"#/objects/core/configmaps/{kubernetes.name}/a")
    expect(visitor.page.get_by_role("alert")).to_contain_text('configmaps "a" not found')
    expect(visitor.page.get_by_role("link", name="All configmaps")).to_be_visible()
    assert visitor.findings() == []
    visitor.page.get_by_role("link", name="Its history").click()
    versions = visitor.page.get_by_role("list", name="Versions").get_by_role("listitem")
    expect(versions.first).to_contain_text("deleted")
    expect(versions.first).to_contain_text("admin")


def test_versions_of_an_object_name_the_manager(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    for manager in ("operator", "painter"):
        kubernetes.config_maps.patch("a", {"data": {"colour": manager}}, fieldManager=manager)
    visitor = visit(kubernetes.server, f"#/objects/core/configmaps/{kubernetes.name}/a/history")
    versions = visitor.page.get_by_role("list", name="Versions").get_by_role("listitem")
    expect(versions.nth(0)).to_contain_text("painter")
    expect(versions.nth(1)).to_contain_text("operator")


def test_what_a_person_did_is_in_the_feed_behind_all_that_machines_did(
    visit: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"}, labels={"by": "hand"})
    for number in range(220):
        kubernetes.config_maps.patch("a", {"data": {"n": f"{number}"}}, fieldManager="machine")
    visitor = visit(kubernetes.server, "#/feed?order=time", namespace=kubernetes.name)
    visitor.page.get_by_label("Filter").fill("created")
    visitor.page.get_by_label("Filter").fill("")
    expect(visitor.page.get_by_role("status").filter(has_text="22")).to_be_visible()
    visitor.page.get_by_role("grid").press("End")
    created = row(visitor, "created").filter(has_text=f"{kubernetes.name}/a")
    expect(created).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Older")).to_be_hidden()
    time = created.get_by_role("gridcell").first
    expect(time).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))


def test_time_travel_shows_what_changed_without_a_choice(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a", data={"colour": "red"})
    kubernetes.config_maps.patch("a", {"data": {"colour": "blue"}})
    visitor = visit(kubernetes.server, "#/travel", namespace=kubernetes.name)
    expect(visitor.page.get_by_role("region", name="Difference")).to_contain_text("colour: blue")
    expect(visitor.page.get_by_text("changes after revision")).to_be_visible()


def test_who_can_is_answered_before_anything_is_asked(visit: Visit, kubernetes: Space) -> None:
    group = f"rbac.authorization.{kubernetes.dialect.group_domain}"
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    kubernetes.collection("roles", "rbac.authorization.@").create("reader", rules=[rule])
    kubernetes.collection("rolebindings", "rbac.authorization.@").create(
        "reader",
        roleRef={"apiGroup": group, "kind": "Role", "name": "reader"},
        subjects=[{"apiGroup": group, "kind": "User", "name": "zoe"}],
    )
    visitor = visit(kubernetes.server, "#/access", namespace=kubernetes.name)
    table = visitor.page.get_by_role("table", name="Who can")
    # Those whom somebody gave the right come before those who have it on every server.
    expect(table.get_by_role("row").nth(1)).to_contain_text("User zoe")


def test_denied_requests_are_offered_where_one_asks_why(visit: Visit, kubernetes: Space) -> None:
    alice = kubernetes.client.clone("alice-token")
    assert alice.get(f"/api/v1/nodes/{kubernetes.name}").status == 403
    alice.close()
    visitor = visit(kubernetes.server, "#/access/why")
    denied = row(visitor, f"get nodes {kubernetes.name}")
    denied.get_by_role("link", name="Why not?").click()
    says = f"No. alice may not get nodes {kubernetes.name}."
    expect(visitor.page.get_by_text(says, exact=True)).to_be_visible()
    answer = visitor.page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("These roles would allow it")
    expect(answer).not_to_contain_text("system:controller")


def test_a_deletion_waits_until_one_sees_what_goes_with_it(visit: Visit, kubernetes: Space) -> None:
    owner = kubernetes.config_maps.create("owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    owners = [{**reference, "uid": owner["metadata"]["uid"]}]
    kubernetes.secrets.create("owned", metadata={"ownerReferences": owners})
    visitor = visit(kubernetes.server, f"#/objects/core/configmaps/{kubernetes.name}/owner")
    expect(card(visitor, "Facts")).to_be_visible()
    held: list[Route] = []
    rules = "**/selfsubjectrulesreviews*"
    visitor.page.route(rules, lambda route: held.append(route))
    with visitor.page.expect_request(rules):
        visitor.page.get_by_role("button", name="Delete this ConfigMap…").click()
    delete = visitor.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True)
    expect(delete).to_be_disabled()
    for one in held:
        one.continue_()
    expect(visitor.page.get_by_text("Secret owned")).to_be_visible()
    expect(delete).to_be_enabled()


def test_a_service_without_pods_is_marked_on_the_map(visit: Visit, kubernetes: Space) -> None:
    spec = {"selector": {"app": "nobody"}, "ports": [{"port": 80}]}
    kubernetes.collection("services").create("lonely", spec=spec)
    visitor = visit(kubernetes.server, "#/map", namespace=kubernetes.name)
    node = visitor.page.locator(".map [data-id]").filter(has_text="lonely")
    expect(node).to_contain_text("no pods")


def test_revisions_that_no_longer_run_are_not_on_the_map(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=workload("web", 1))
    sets = pods.space.collection("replicasets", "apps")
    eventually(lambda: len(sets.names()) == 1, "the first revision is there")
    [first] = sets.names()
    template = workload("web", 1, log="another")["template"]
    deployments.patch("web", {"spec": {"template": template}})

    def is_over() -> bool:
        return len(sets.names()) == 2 and not sets.read(first)["status"]["replicas"]

    eventually(is_over, "the first revision has no pods")
    visitor = visit(pods.server, "#/map", namespace=pods.space.name)
    nodes = visitor.page.locator(".map [data-id]")
    [second] = set(sets.names()) - {first}
    expect(nodes.filter(has=visitor.page.locator("title", has_text=second)).first).to_be_visible()
    expect(nodes.filter(has_text="ReplicaSet")).to_have_count(1)


def test_a_search_finds_the_shortest_name_first(visit: Visit, pods: Pods) -> None:
    pods.create("web-of-many-words")
    pods.space.collection("services").create("web", spec={"ports": [{"port": 80}]})
    visitor = visit(pods.server, namespace=pods.space.name)
    visitor.page.keyboard.press("/")
    visitor.page.keyboard.type("we")
    found = visitor.page.get_by_role("option").filter(has_text=pods.space.name)
    expect(found).to_have_count(2)
    expect(found.first).to_contain_text("Service in")


def test_groups_that_are_looked_at_most_come_first(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/kinds")
    titles = visitor.page.get_by_role("heading", level=2)
    expect(titles.nth(1)).to_have_text("apps")
    expect(titles.nth(2)).to_have_text("batch")
    # No name is wider than its card.
    wide = """() => [...document.querySelectorAll(".card")]
        .filter(one => one.scrollWidth > one.clientWidth).length"""
    assert visitor.page.evaluate(wide) == 0


def test_the_current_view_is_seen_in_the_bar_of_a_phone(visit: Visit, kubernetes: Space) -> None:
    visitor = visit(kubernetes.server, "#/access", viewport=PHONE)
    link = visitor.page.get_by_role("navigation", name="Views").get_by_role("link", name="Access")
    expect(link).to_be_in_viewport(ratio=1)
