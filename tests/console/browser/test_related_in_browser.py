"""The graph of related objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import PHONE, Visitor
from support.client import Object
from support.namespaces import Space

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]


def route(space: Space, plural: str, name: str, group: str = "core") -> str:
    return f"#/objects/{group}/{plural}/{space.name}/{name}/related"


def boxes(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("list", name="Related objects").get_by_role("listitem")


def box(visitor: Visitor, kind: str, name: str) -> Locator:
    return boxes(visitor).filter(has_text=re.compile(f"^{kind}{name}"))


def owned_by(owner: Object, kind: str = "ConfigMap", version: str = "v1") -> dict[str, Any]:
    metadata = owner["metadata"]
    reference = {"apiVersion": version, "kind": kind, "name": metadata["name"]}
    return {"ownerReferences": [{**reference, "uid": metadata["uid"]}]}


@pytest.mark.both_dialects
def test_owners_selectors_and_mounted_config_are_around_a_workload(
    visit: Visit, space: Space
) -> None:
    space.ready_for_pods()
    space.config_maps.create("settings")
    volumes = [{"name": name, "configMap": {"name": name}} for name in ("settings", "absent")]
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": volumes}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    space.collection("deployments", "apps").create(
        "web",
        spec={"replicas": 8, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    )
    selector = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    space.collection("services").create("front", spec=selector)
    service = {"name": "front", "port": {"number": 80}}
    space.collection("ingresses", "networking.@").create(
        "gate", spec={"defaultBackend": {"service": service}}
    )
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    space.collection("horizontalpodautoscalers", "autoscaling", "v2").create(
        "scaler", spec={"maxReplicas": 9, "scaleTargetRef": target}
    )
    visitor = visit(space.server, route(space, "deployments", "web", "apps"))
    expect(box(visitor, "ReplicaSet", "web-")).to_contain_text("Deployment web owns it")
    expect(box(visitor, "Pod", "and 3 more")).to_be_visible()
    expect(box(visitor, "Service", "front")).to_contain_text("selects pods of Deployment web")
    expect(box(visitor, "Ingress", "gate")).to_contain_text("routes to Service front")
    expect(box(visitor, "HorizontalPodAutoscaler", "scaler")).to_contain_text(
        "scales Deployment web"
    )
    expect(box(visitor, "ConfigMap", "settings")).to_contain_text("mounts it")
    expect(box(visitor, "ConfigMap", "absent")).to_contain_text("missing")
    expect(visitor.page.get_by_role("img", name="What is around Deployment web")).to_be_visible()
    visitor.picture(f"related-{space.dialect.name}")
    space.collection("deployments", "apps").patch("web", {"spec": {"replicas": 3}})
    expect(box(visitor, "Pod", "and 3 more")).to_have_count(0, timeout=20_000)
    assert visitor.findings() == []


def test_roles_and_those_who_have_them_are_around_a_binding(visit: Visit, cluster: Space) -> None:
    group = "rbac.authorization.@"
    full = cluster.dialect.group_name(group)
    cluster.collection("roles", group).create("reader", rules=[])
    cluster.collection("rolebindings", group).create(
        "readers",
        roleRef={"apiGroup": full, "kind": "Role", "name": "reader"},
        subjects=[
            {"apiGroup": full, "kind": "User", "name": "<b>bob</b>"},
            {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
        ],
    )
    visitor = visit(cluster.server, route(cluster, "rolebindings", "readers", full))
    expect(box(visitor, "Role", "reader")).to_contain_text("grants it")
    expect(box(visitor, "User", "<b>bob</b>").get_by_role("link")).to_have_count(0)
    expect(box(visitor, "ServiceAccount", "robot")).to_contain_text("missing")


def test_circles_of_owners_end(visit: Visit, kubernetes: Space) -> None:
    first = kubernetes.config_maps.create("first")
    second = kubernetes.config_maps.create("second", metadata=owned_by(first))
    kubernetes.config_maps.patch("first", {"metadata": owned_by(second)})
    visitor = visit(kubernetes.server, route(kubernetes, "configmaps", "first"))
    expect(boxes(visitor)).to_have_count(2)
    expect(box(visitor, "ConfigMap", "second")).to_contain_text("owns ConfigMap first")
    kubernetes.config_maps.create("third", metadata=owned_by(second))
    box(visitor, "ConfigMap", "second").get_by_role("link").focus()
    visitor.page.keyboard.press("Enter")
    expect(box(visitor, "ConfigMap", "third")).to_contain_text("ConfigMap second owns it")


def test_where_little_may_be_seen_the_rest_is_told(visit: Visit, kubernetes: Space) -> None:
    group = "rbac.authorization.@"
    full = kubernetes.dialect.group_name(group)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    kubernetes.collection("roles", group).create("reader", rules=[rule])
    kubernetes.collection("rolebindings", group).create(
        "reader",
        roleRef={"apiGroup": full, "kind": "Role", "name": "reader"},
        subjects=[{"apiGroup": full, "kind": "User", "name": "alice"}],
    )
    owner = kubernetes.secrets.create("owner")
    kubernetes.config_maps.create("owned", metadata=owned_by(owner, "Secret"))
    text = route(kubernetes, "configmaps", "owned")
    visitor = visit(kubernetes.server, text, token="alice-token", viewport=PHONE)
    expect(box(visitor, "Secret", "owner")).to_contain_text("owns ConfigMap owned")
    expect(visitor.page.get_by_text("not looked at: you may not list")).to_contain_text("secrets")
    visitor.picture("related-phone")


def test_resource_claims_are_around_a_pod_of_release_1_36(visit: Visit, space_1_36: Space) -> None:
    space_1_36.ready_for_pods()
    spec = {
        "containers": [{"name": "c", "image": "x"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "absent"}],
    }
    space_1_36.collection("pods").create("web", spec=spec)
    visitor = visit(space_1_36.server, route(space_1_36, "pods", "web"))
    expect(box(visitor, "ResourceClaim", "absent")).to_contain_text("missing")
