"""What can be done to objects from the console, where rights allow it."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.browser import PHONE, Visitor
from support.client import Object
from support.definitions import Kind, version
from support.namespaces import Collection, Space, random_word
from support.simulation import Pods, container
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container()]}}
WORKLOAD = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


def route(space: Space, plural: str, name: str, group: str = "core") -> str:
    return f"#/objects/{group}/{plural}/{space.name}/{name}"


def actions(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("group", name="Actions")


def act(visitor: Visitor, action: str) -> Locator:
    """Choose an action; the dialog that it opens."""
    actions(visitor).get_by_role("button", name=f"{action}…", exact=True).click()
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def do(visitor: Visitor, dialog: Locator, button: str) -> None:
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.both_dialects
def test_a_deployment_is_scaled_restarted_and_paused(returning: Visit, space: Space) -> None:
    group = space.dialect.group_name("apps")
    deployments = space.collection("deployments", "apps")
    deployments.create("web", spec=WORKLOAD)
    visitor = returning(space.server, route(space, "deployments", "web", group))
    dialog = act(visitor, "Scale")
    dialog.get_by_label("Replicas").fill("3")
    program = "fairlead" if space.dialect.name == "cluster" else "kubectl"
    line = f"{program} scale deployment/web --replicas=3 --namespace {space.name}"
    expect(dialog.locator(".command")).to_have_text(line)
    visitor.picture(f"scaling-{space.dialect.name}")
    assert visitor.findings() == []
    do(visitor, dialog, "Scale")
    assert deployments.read("web")["spec"]["replicas"] == 3
    do(visitor, act(visitor, "Restart"), "Restart")
    notes = deployments.read("web")["spec"]["template"]["metadata"]["annotations"]
    assert [name.endswith("/restartedAt") for name in notes] == [True]
    do(visitor, act(visitor, "Pause"), "Pause")
    assert deployments.read("web")["spec"]["paused"] is True
    do(visitor, act(visitor, "Resume"), "Resume")
    assert not deployments.read("web")["spec"].get("paused")


@pytest.mark.both_dialects
def test_a_custom_kind_is_scaled_by_its_own_field(visit: Visit, space: Space) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    kind = Kind(space, version(subresources={"scale": paths})).install()
    kind.create("boat", spec={"size": 2})
    visitor = visit(space.server, f"#/objects/{kind.group}/{kind.plural}/{space.name}/boat")
    dialog = act(visitor, "Scale")
    expect(dialog.get_by_label("Replicas")).to_have_value("2")
    dialog.get_by_label("Replicas").fill("5")
    expect(dialog.locator(".command")).to_contain_text(f"scale {kind.name}/boat --replicas=5")
    do(visitor, dialog, "Scale")
    assert kind.collection().read("boat")["spec"]["size"] == 5


def test_a_kind_without_a_scale_is_not_scaled(returning: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("a")
    visitor = returning(kubernetes.server, route(kubernetes, "configmaps", "a"))
    expect(actions(visitor).get_by_role("button")).to_have_text(["Delete this ConfigMap…"])


def _has_revisions(sets: Collection, count: int) -> bool:
    return len(sets.names()) == count


def test_a_rollout_is_undone_from_the_actions(returning: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=WORKLOAD)
    sets = pods.space.collection("replicasets", "apps")
    eventually(lambda: len(sets.names()) == 1, "the first revision is there")
    for count, image in enumerate(("nginx:2", "nginx:3"), start=2):
        template = {**TEMPLATE, "spec": {"containers": [container(image=image)]}}
        deployments.patch("web", {"spec": {"template": template}})
        eventually(partial(_has_revisions, sets, count), "the revision is there")
    visitor = returning(pods.server, route(pods.space, "deployments", "web", "apps"))
    dialog = act(visitor, "Undo")
    change = dialog.get_by_role("region", name="What would change")
    expect(change).to_contain_text("image: nginx:2")
    dialog.get_by_label("Revision").select_option("1")
    expect(change).not_to_contain_text("image: nginx:2")
    expect(dialog.locator(".command")).to_contain_text(
        "kubectl rollout undo deployment/web --to-revision=1"
    )
    visitor.picture("undo")
    assert visitor.findings() == []
    do(visitor, dialog, "Go back to this")
    [one] = deployments.read("web")["spec"]["template"]["spec"]["containers"]
    assert one["image"] == container()["image"]


def test_what_is_not_allowed_is_not_offered(returning: Visit, kubernetes: Space) -> None:
    rules: list[Object] = [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["patch"]},
    ]
    group = "rbac.authorization.@"
    kubernetes.collection("roles", group).create("scaler", rules=rules)
    kubernetes.collection("rolebindings", group).create(
        "scaler",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "scaler"},
        subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    )
    deployments = kubernetes.collection("deployments", "apps")
    deployments.create("web", spec=WORKLOAD)
    visitor = returning(
        kubernetes.server, route(kubernetes, "deployments", "web", "apps"), token="alice-token"
    )
    expect(actions(visitor).get_by_role("button")).to_have_text(["Scale…"])
    do(visitor, act(visitor, "Scale"), "Scale")
    assert deployments.read("web")["spec"]["replicas"] == 0


def test_a_cron_job_is_suspended_and_run_now(returning: Visit, kubernetes: Space) -> None:
    jobs = kubernetes.collection("jobs", "batch")
    pod = {"spec": {"containers": [container()], "restartPolicy": "Never"}}
    crons = kubernetes.collection("cronjobs", "batch")
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": pod}}}
    crons.create("nightly", spec=spec)
    visitor = returning(kubernetes.server, route(kubernetes, "cronjobs", "nightly", "batch"))
    do(visitor, act(visitor, "Suspend"), "Suspend")
    assert crons.read("nightly")["spec"]["suspend"] is True
    dialog = act(visitor, "Run now")
    expect(dialog).to_contain_text("kubectl create job nightly-manual-")
    do(visitor, dialog, "Run now")
    [name] = jobs.names()
    job = jobs.read(name)
    assert job["metadata"]["ownerReferences"][0]["name"] == "nightly"
    runs = visitor.page.get_by_role("table", name="Runs")
    expect(runs.get_by_role("link", name=name)).to_be_visible()


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_a_job_that_has_ended_is_neither_suspended_nor_resumed(
    returning: Visit, kubernetes: Space, end: str
) -> None:
    jobs = kubernetes.collection("jobs", "batch")
    pod = {"spec": {"containers": [container()], "restartPolicy": "Never"}}
    jobs.create("once", spec={"template": pod})
    visitor = returning(kubernetes.server, route(kubernetes, "jobs", "once", "batch"))
    offered = actions(visitor).get_by_role("button")
    expect(offered.filter(has_text="Suspend")).to_be_visible()
    condition = {"type": end, "status": "True"}
    path = jobs.item("once", "status")
    change = {"status": {"conditions": [condition]}}
    assert kubernetes.client.patch(path, change).status == 200
    expect(offered.filter(has_text=re.compile("Suspend|Resume"))).to_have_count(0)
    expect(offered.filter(has_text="Delete")).to_be_visible()


def test_a_node_is_drained_and_takes_pods_again(visit: Visit, pods: Pods) -> None:
    pods.create("p")
    pods.await_ready()
    node = pods.node_of()
    visitor = visit(pods.server, f"#/objects/core/nodes/-/{node}")
    try:
        dialog = act(visitor, "Drain")
        expect(dialog).to_contain_text(f"{pods.space.name}/p")
        expect(dialog).to_contain_text(f"kubectl drain {node} --ignore-daemonsets")
        visitor.picture("draining")
        do(visitor, dialog, "Drain")
        pods.await_gone("p")
        expect(actions(visitor).get_by_role("button", name="Uncordon…")).to_be_visible()
    finally:
        if pods.nodes.read(node)["spec"].get("unschedulable"):
            do(visitor, act(visitor, "Uncordon"), "Uncordon")
    assert not pods.nodes.read(node)["spec"].get("unschedulable")


def test_a_pod_is_evicted(visit: Visit, pods: Pods) -> None:
    pods.create("p")
    pods.await_ready()
    visitor = visit(pods.server, route(pods.space, "pods", "p"))
    dialog = act(visitor, "Evict")
    expect(dialog).to_contain_text("| kubectl create --raw")
    do(visitor, dialog, "Evict")
    pods.await_gone("p")


def test_a_request_for_a_certificate_is_approved(
    returning: Visit, kubernetes: Space, tmp_path: Path
) -> None:
    words = "openssl req -new -newkey rsa:2048 -nodes -keyout key -subj /CN=zoe -out csr"
    subprocess.run(words.split(" "), cwd=tmp_path, check=True, capture_output=True)
    requests = kubernetes.everywhere("certificatesigningrequests", "certificates.@")
    name = random_word()
    requests.create(
        name,
        spec={
            "request": base64.b64encode((tmp_path / "csr").read_bytes()).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    )
    here = f"#/objects/certificates.k8s.io/certificatesigningrequests/-/{name}"
    visitor = returning(kubernetes.server, here)
    dialog = act(visitor, "Approve")
    expect(dialog).to_contain_text("admin asks kubernetes.io/kube-apiserver-client")
    do(visitor, dialog, "Approve")
    assert requests.read(name)["status"]["conditions"][0]["type"] == "Approved"
    expect(actions(visitor).get_by_role("button", name="Approve…")).to_have_count(0)


def test_the_preview_of_a_deletion_names_what_goes_with_it(visit: Visit, pods: Pods) -> None:
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec={**WORKLOAD, "replicas": 2})
    replica_sets = pods.space.collection("replicasets", "apps")
    eventually(lambda: len(pods.collection.names()) == 2, "there are two pods")
    visitor = visit(pods.server, route(pods.space, "deployments", "web", "apps"), viewport=PHONE)
    dialog = act(visitor, "Delete this Deployment")
    expect(dialog).to_contain_text("2 Pod")
    expect(dialog).to_contain_text(f"ReplicaSet {replica_sets.names()[0]}")
    expect(dialog).to_contain_text(f"kubectl delete deployment/web --namespace {pods.space.name}")
    visitor.picture("deletion-preview")
    do(visitor, dialog, "Delete")
    eventually(lambda: deployments.get("web").status == 404, "it is deleted")


def test_removing_a_finalizer_says_what_it_means(returning: Visit, kubernetes: Space) -> None:
    guarded = {"finalizers": ["example.com/other", "example.com/guard"]}
    kubernetes.config_maps.create("held", metadata=guarded)
    kubernetes.config_maps.delete("held")
    visitor = returning(kubernetes.server, route(kubernetes, "configmaps", "held"))
    why = visitor.page.get_by_role("region", name="Why it is not well")
    expect(why).to_contain_text("Its deletion waits for the finalizer example.com/guard")
    for name in ("example.com/guard", "example.com/other"):
        dialog = act(visitor, "Remove a finalizer")
        expect(dialog).to_contain_text("may stay behind")
        dialog.get_by_label("Finalizer").select_option(name)
        do(visitor, dialog, "Remove it")
    expect(visitor.page.get_by_text("deleted", exact=True)).to_be_visible()
    assert kubernetes.config_maps.get("held").status == 404


@pytest.mark.both_dialects
def test_a_namespace_names_what_holds_it_and_lets_go(visit: Visit, space: Space) -> None:
    namespaces = space.everywhere("namespaces")
    name = random_word()
    held = {"spec": {"finalizers": ["example.com/landlord"]}}
    assert space.client.post(namespaces.path, {"metadata": {"name": name}, **held}).status == 201
    space.client.post(
        f"{namespaces.path}/{name}/configmaps",
        {"metadata": {"name": "left", "finalizers": ["example.com/guard"]}},
    )
    namespaces.delete(name)
    visitor = visit(space.server, f"#/objects/core/namespaces/-/{name}")
    why = visitor.page.get_by_role("region", name="Why it is not well")
    expect(why).to_contain_text("Its deletion waits for the finalizer example.com/landlord")
    expect(why).to_contain_text("ConfigMap left: is still in it and waits for the finalizer")
    dialog = act(visitor, "Remove a finalizer of its content")
    dialog.get_by_label("Finalizer").select_option("kubernetes")
    expect(dialog).to_contain_text("out of reach until there is a namespace of this name again")
    dialog.get_by_label("Finalizer").select_option("example.com/landlord")
    expect(dialog).to_contain_text("Whoever put it there")
    expect(dialog.locator(".command")).to_contain_text(
        """jq '.spec.finalizers -= ["example.com/landlord"]'"""
    )
    visitor.picture("namespace-held")
    assert visitor.findings() == []
    do(visitor, dialog, "Remove it")
    expect(why).not_to_contain_text("landlord")
    body = {"metadata": {"finalizers": None}}
    answer = space.client.patch(f"{namespaces.path}/{name}/configmaps/left", body)
    assert answer.status == 200, answer.text
    expect(visitor.page.get_by_text("deleted", exact=True)).to_be_visible()
    eventually(lambda: namespaces.get(name).status == 404, "the namespace is gone")


def test_several_rows_are_deleted_at_once(returning: Visit, kubernetes: Space) -> None:
    for name in ("a", "b", "c"):
        kubernetes.secrets.create(name)
    visitor = returning(kubernetes.server, "#/kinds/core/secrets", namespace=kubernetes.name)
    rows = visitor.page.get_by_role("row")
    expect(rows.filter(has_text="Opaque")).to_have_count(3)
    visitor.page.keyboard.press("x")
    visitor.page.keyboard.press("ArrowDown")
    visitor.page.keyboard.press("x")
    picked = visitor.page.get_by_role("group", name="Picked")
    expect(picked).to_contain_text("2 picked")
    visitor.picture("picked-rows")
    assert visitor.findings() == []
    picked.get_by_role("button", name="Delete…").click()
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete 2 secrets?")
    expect(dialog.locator(".command")).to_have_text(
        f"kubectl delete secret/a --namespace {kubernetes.name}\n"
        f"kubectl delete secret/b --namespace {kubernetes.name}"
    )
    do(visitor, dialog, "Delete")
    expect(rows.filter(has_text="Opaque")).to_have_count(1)
    expect(picked).to_be_hidden()
    assert kubernetes.secrets.names() == ["c"]


def config_map(name: str, value: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  x: {value}\n"


def test_pasted_yaml_is_applied_after_its_difference_was_shown(
    returning: Visit, kubernetes: Space
) -> None:
    kubernetes.config_maps.create("a", data={"x": "1"})
    visitor = returning(kubernetes.server, "#/overview", namespace=kubernetes.name)
    expect(visitor.page.get_by_role("heading", name="Overview")).to_be_visible()
    text = f"{config_map('a', 'changed')}---\n{config_map('b', 'made')}"
    visitor.page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            document.body.dispatchEvent(
                new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        text,
    )
    page = visitor.page
    expect(page.get_by_role("heading", name="ConfigMap b new")).to_be_visible()
    changes = page.get_by_role("region", name="What would change")
    expect(changes.first).to_contain_text("x: changed")
    expect(page.get_by_role("alert")).to_contain_text("1 conflict")
    expect(page.locator(".command")).to_have_text(
        "kubectl apply --server-side --field-manager=fairlead-console --force-conflicts -f FILE"
    )
    visitor.picture("applying-anything")
    assert visitor.findings() == []
    page.get_by_role("button", name="Apply all 2 and take over 1 fields").click()
    expect(page.get_by_role("heading", name="Applied")).to_be_visible()
    assert kubernetes.config_maps.read("a")["data"] == {"x": "changed"}
    assert kubernetes.config_maps.read("b")["data"] == {"x": "made"}


def test_what_cannot_be_applied_is_told_at_its_line(returning: Visit, kubernetes: Space) -> None:
    visitor = returning(kubernetes.server, "#/apply", namespace=kubernetes.name)
    box = visitor.page.get_by_role("textbox", name="YAML to apply")
    box.fill(f"{config_map('a', 'text')}wrong: 1\n")
    visitor.page.get_by_role("button", name="What would happen?").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("line 7")
    assert kubernetes.config_maps.get("a").status == 404


def test_a_file_that_is_dropped_on_any_page_is_to_be_applied(
    returning: Visit, kubernetes: Space
) -> None:
    visitor = returning(kubernetes.server, "#/create/core/secrets", namespace=kubernetes.name)
    expect(visitor.page.get_by_role("heading", name="New Secret")).to_be_visible()
    visitor.page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "a.yaml"));
            document.querySelector("textarea").dispatchEvent(
                new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        config_map("a", "dropped"),
    )
    page = visitor.page
    expect(page.get_by_role("heading", name="ConfigMap a new")).to_be_visible()
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_role("heading", name="Applied")).to_be_visible()
    assert kubernetes.config_maps.read("a")["data"] == {"x": "dropped"}
