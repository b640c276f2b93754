"""ResourceQuota: enforces limits and keeps the usage current."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.client import Object
from support.namespaces import Space
from support.process import FreshServer, failed_start
from support.quotas import (
    becomes,
    container,
    make_quota,
    post_claim,
    post_pod,
    post_service,
    used,
)
from support.waiting import eventually


@pytest.fixture
def limited(space: Space) -> Space:
    space.ready_for_pods()
    return space


def test_what_goes_beyond_is_refused_with_the_figures(limited: Space) -> None:
    make_quota(limited, "q", {"secrets": "1"})
    limited.secrets.create("a")
    answer = limited.client.post(limited.secrets.path, {"metadata": {"name": "b"}})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        'secrets "b" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1,'
        " limited: secrets=1"
    )
    assert used(limited, "q") == {"secrets": "1"}


def test_what_is_there_already_counts(limited: Space) -> None:
    limited.secrets.create_all("a", "b")
    make_quota(limited, "q", {"secrets": "1", "count/secrets": "9"})
    assert used(limited, "q") == {"secrets": "2", "count/secrets": "2"}


def test_what_goes_is_given_back(limited: Space) -> None:
    make_quota(limited, "q", {"secrets": "1"})
    limited.secrets.create("a")
    limited.secrets.remove("a")
    becomes(limited, "q", {"secrets": "0"})
    limited.secrets.create("b")


@pytest.mark.both_dialects
def test_objects_of_any_resource_are_counted_by_name_and_group(limited: Space) -> None:
    name = f"count/leases.{limited.dialect.group_name('coordination.@')}"
    make_quota(limited, "q", {name: "1", "count/deployments.apps": "0"})
    leases = limited.collection("leases", "coordination.@")
    leases.create("a")
    answer = leases.client.post(leases.path, {"metadata": {"name": "b"}})
    assert f"requested: {name}=1, used: {name}=1, limited: {name}=1" in answer.message


def test_what_pods_ask_for_is_charged(limited: Space) -> None:
    hard = {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "9"}
    make_quota(limited, "q", hard)
    asks = container("c", {"cpu": "400m"}, {"memory": "512Mi"})
    assert post_pod(limited, "a", asks).status == 201
    assert post_pod(limited, "b", asks).status == 201
    assert used(limited, "q") == {"requests.cpu": "800m", "limits.memory": "1Gi", "pods": "2"}
    assert post_pod(limited, "c", asks).message == (
        'pods "c" is forbidden: exceeded quota: q,'
        " requested: limits.memory=512Mi,requests.cpu=400m,"
        " used: limits.memory=1Gi,requests.cpu=800m, limited: limits.memory=1Gi,requests.cpu=1"
    )


def test_an_initial_container_is_charged_where_it_needs_more(limited: Space) -> None:
    make_quota(limited, "q", {"cpu": "9"})
    first = container("i", {"cpu": "3"})
    pair = (container("a", {"cpu": "1"}), container("b", {"cpu": "1"}))
    assert post_pod(limited, "p", *pair, initContainers=[first]).status == 201
    assert used(limited, "q") == {"cpu": "3"}


def test_extended_resources_and_huge_pages_are_charged(limited: Space) -> None:
    hard = {"requests.example.com/gpu": "2", "hugepages-2Mi": "4Mi"}
    make_quota(limited, "q", hard)
    value = {"example.com/gpu": "2", "hugepages-2Mi": "4Mi", "cpu": "1"}
    assert post_pod(limited, "p", container("c", value, value)).status == 201
    assert used(limited, "q") == hard
    more = {"example.com/gpu": "1"}
    assert (
        "requests.example.com/gpu=1" in post_pod(limited, "o", container("c", more, more)).message
    )


def test_containers_must_say_what_a_quota_counts(limited: Space) -> None:
    make_quota(limited, "q", {"requests.cpu": "1", "limits.cpu": "1", "requests.storage": "1"})
    answer = post_pod(limited, "p", container("a", {"cpu": "1"}), container("b"))
    assert answer.message == (
        'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: a,b; requests.cpu'
        " for: b"
    )


def test_pods_that_are_through_are_given_back_but_still_there(limited: Space) -> None:
    make_quota(limited, "q", {"pods": "1", "count/pods": "5", "requests.cpu": "1"})
    assert post_pod(limited, "p", container("c", {"cpu": "1"})).status == 201
    done = {"status": {"phase": "Succeeded"}}
    path = limited.collection("pods").item("p", "status")
    assert limited.client.patch(path, done).status == 200
    becomes(limited, "q", {"pods": "0", "count/pods": "1", "requests.cpu": "0"})


@pytest.mark.both_dialects
def test_claims_are_charged_by_class_and_as_a_whole(limited: Space) -> None:
    suffix = f".storageclass.{limited.dialect.group_name('storage.@')}"
    gold, count = f"gold{suffix}/requests.storage", f"gold{suffix}/persistentvolumeclaims"
    make_quota(
        limited,
        "q",
        {gold: "2Gi", count: "5", "requests.storage": "9Gi", "persistentvolumeclaims": "9"},
    )
    assert post_claim(limited, "a", "2Gi", "gold").status == 201
    assert post_claim(limited, "b", "3Gi", "iron").status == 201
    assert used(limited, "q") == {
        gold: "2Gi", count: "1", "requests.storage": "5Gi", "persistentvolumeclaims": "2",
    }  # fmt: skip
    assert f"requested: {gold}=1Gi" in post_claim(limited, "c", "1Gi", "gold").message


def test_services_are_charged_by_type_and_updates_by_the_difference(limited: Space) -> None:
    make_quota(
        limited, "q", {"services": "9", "services.nodeports": "3", "services.loadbalancers": "1"}
    )
    assert post_service(limited, "a", "ClusterIP", 2).status == 201
    services = limited.collection("services")
    assert services.patch("a", {"spec": {"type": "NodePort"}}).status == 200
    counted = {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"}
    assert used(limited, "q") == counted
    assert services.patch("a", {"metadata": {"labels": {"x": "y"}}}).status == 200
    assert used(limited, "q") == counted
    assert post_service(limited, "b", "LoadBalancer", 2).message == (
        'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=2,'
        " used: services.nodeports=2, limited: services.nodeports=3"
    )
    without = post_service(limited, "b", "LoadBalancer", 2, allocateLoadBalancerNodePorts=False)
    assert without.status == 201
    assert services.patch("a", {"spec": {"type": "ClusterIP"}}).status == 200
    becomes(
        limited, "q", {"services": "2", "services.nodeports": "0", "services.loadbalancers": "1"}
    )


def test_an_update_that_asks_for_more_than_is_left_is_refused(limited: Space) -> None:
    make_quota(limited, "q", {"services.nodeports": "1"})
    assert post_service(limited, "a", "ClusterIP", 2).status == 201
    answer = limited.collection("services").patch("a", {"spec": {"type": "NodePort"}})
    assert answer.status == 403
    assert used(limited, "q") == {"services.nodeports": "0"}


def test_a_dry_run_is_refused_like_a_write_and_charges_nothing(limited: Space) -> None:
    make_quota(limited, "q", {"pods": "1"})
    assert post_pod(limited, "a", dry_run=True).status == 201
    assert used(limited, "q") == {"pods": "0"}
    assert post_pod(limited, "a").status == 201
    assert post_pod(limited, "b", dry_run=True).status == 403


@pytest.mark.parametrize("name", ["taken", "Not A Name"])
def test_what_fails_charges_nothing(limited: Space, name: str) -> None:
    make_quota(limited, "q", {"secrets": "5"})
    limited.secrets.create("taken")
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": name}}).status >= 400
    assert used(limited, "q") == {"secrets": "1"}


def test_all_quotas_of_a_namespace_are_charged_or_none(limited: Space) -> None:
    make_quota(limited, "a", {"secrets": "5"})
    make_quota(limited, "b", {"secrets": "1"})
    limited.secrets.create("s")
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": "t"}}).status == 403
    assert (used(limited, "a"), used(limited, "b")) == ({"secrets": "1"}, {"secrets": "1"})


def test_nothing_is_let_through_before_it_is_counted(fresh_server: FreshServer) -> None:
    server = fresh_server("--controllers=*,-resourcequota")
    space = Space(server, server.client())
    space.collection("resourcequotas").create("q", spec={"hard": {"secrets": "1"}})
    answer = space.client.post(space.secrets.path, {"metadata": {"name": "a"}})
    assert answer.message == (
        'secrets "a" is forbidden: status unknown for quota: q, resources: secrets'
    )


SCOPES: list[tuple[Object, Object, bool]] = [
    ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
    ({"scopes": ["Terminating"]}, {}, False),
    ({"scopes": ["NotTerminating"]}, {}, True),
    ({"scopes": ["NotTerminating"]}, {"activeDeadlineSeconds": 5}, False),
    ({"scopes": ["BestEffort"]}, {}, True),
    ({"scopes": ["BestEffort"]}, {"containers": [container("c", {"cpu": "1"})]}, False),
    ({"scopes": ["NotBestEffort"]}, {"containers": [container("c", {"cpu": "1"})]}, True),
    ({"scopes": ["NotBestEffort"]}, {}, False),
    ({"scopes": ["BestEffort", "NotTerminating"]}, {"activeDeadlineSeconds": 5}, False),
]
SYSTEM = "system-node-critical"
APPLY = "application/apply-patch+yaml"


@pytest.mark.parametrize(("scope", "spec", "counted"), SCOPES)
def test_a_quota_counts_the_pods_of_its_scopes(
    limited: Space, scope: Object, spec: Object, counted: bool
) -> None:
    spec = dict(spec)
    make_quota(limited, "q", {"pods": "5"}, **scope)
    assert post_pod(limited, "p", *spec.pop("containers", ()), **spec).status == 201
    assert used(limited, "q") == {"pods": "1" if counted else "0"}


def _selecting(scope: str, operator: str, *values: str) -> Object:
    value: Object = {"scopeName": scope, "operator": operator}
    return {
        "scopeSelector": {"matchExpressions": [value | ({"values": [*values]} if values else {})]}
    }


@pytest.mark.parametrize(
    ("selector", "with_class", "without"),
    [
        (_selecting("PriorityClass", "In", SYSTEM), "1", "0"),
        (_selecting("PriorityClass", "In", "other"), "0", "0"),
        (_selecting("PriorityClass", "NotIn", SYSTEM), "0", "1"),
        (_selecting("PriorityClass", "Exists"), "1", "0"),
        (_selecting("PriorityClass", "DoesNotExist"), "0", "1"),
    ],
)
def test_a_quota_selects_by_priority_class(
    limited: Space, selector: Object, with_class: str, without: str
) -> None:
    make_quota(limited, "q", {"pods": "5"}, **selector)
    assert post_pod(limited, "a", priorityClassName=SYSTEM).status == 201
    assert used(limited, "q") == {"pods": with_class}
    assert post_pod(limited, "b").status == 201
    assert used(limited, "q") == {"pods": str(int(with_class) + int(without))}
    make_quota(limited, "r", {"pods": "5"}, **selector)
    assert used(limited, "q") == used(limited, "r")


def test_a_quota_selects_pods_whose_affinity_crosses_namespaces(limited: Space) -> None:
    make_quota(limited, "q", {"pods": "0"}, **_selecting("CrossNamespacePodAffinity", "Exists"))
    term: Object = {"topologyKey": "a.b/c", "labelSelector": {"matchLabels": {"a": "b"}}}

    def with_term(term: Object) -> Object:
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        return {"podAntiAffinity": {required: [term]}}

    assert post_pod(limited, "a", affinity=with_term(term)).status == 201
    across = term | {"namespaceSelector": {}}
    assert post_pod(limited, "b", affinity=with_term(across)).status == 403


def test_scopes_are_of_pods_only(limited: Space) -> None:
    make_quota(limited, "q", {"pods": "0"}, scopes=["NotTerminating"])
    limited.secrets.create("s")


def test_a_changed_quota_is_counted_again(limited: Space) -> None:
    limited.secrets.create("a")
    make_quota(limited, "q", {"secrets": "5"})
    change = {"spec": {"hard": {"secrets": None, "count/secrets": "1"}}}
    assert limited.collection("resourcequotas").patch("q", change).status == 200
    becomes(limited, "q", {"count/secrets": "1"})


def test_a_quota_that_lost_its_figures_is_counted_again(limited: Space) -> None:
    limited.secrets.create("a")
    make_quota(limited, "q", {"secrets": "5"})
    quotas = limited.collection("resourcequotas")
    answer = limited.client.patch(f"{quotas.item('q')}/status", {"status": {"used": None}})
    assert answer.status == 200
    eventually(
        lambda: quotas.read("q")["status"].get("used") == {"secrets": "1"}, "it is counted again"
    )


def test_a_hundred_at_once_never_come_to_more(limited: Space) -> None:
    make_quota(limited, "q", {"pods": "17", "count/pods": "90"})
    clients = [limited.client.clone() for _ in range(10)]

    def create(number: int) -> int:
        client = clients[number % 10]
        body = {
            "metadata": {"name": f"p{number}"},
            "spec": {"containers": [container()], "automountServiceAccountToken": False},
        }
        return client.post(limited.collection("pods").path, body).status

    def create_some(worker: int) -> list[int]:
        return [create(number) for number in range(worker, 100, 10)]

    with ThreadPoolExecutor(10) as pool:
        codes = [code for part in pool.map(create_some, range(10)) for code in part]
    for client in clients:
        client.close()
    assert sorted(codes) == [201] * 17 + [403] * 83
    assert used(limited, "q") == {"pods": "17", "count/pods": "17"}


def test_charges_outlive_a_kill(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    make_quota(space, "q", {"secrets": "3"})
    space.secrets.create_all("a", "b")
    server.kill()
    server.start()
    space.client = server.client()
    space.secrets = space.collection("secrets")
    assert used(space, "q") == {"secrets": "2"}
    space.secrets.create("c")
    assert space.client.post(space.secrets.path, {"metadata": {"name": "d"}}).status == 403


def _configured(tmp_path: Path, **limited: Any) -> Path:
    path = tmp_path / "admission.yaml"
    own = "apiserver.config.k8s.io/v1"
    quota = {"apiVersion": own, "kind": "ResourceQuotaConfiguration", "limitedResources": [limited]}
    entry = {"name": "ResourceQuota", "configuration": quota}
    file = {"apiVersion": own, "kind": "AdmissionConfiguration", "plugins": [entry]}
    path.write_text(yaml.safe_dump(file))
    return path


def _server_with(fresh_server: FreshServer, path: Path) -> Space:
    server = fresh_server("--admission-control-config-file", str(path))
    space = Space(server, server.client())
    space.ready_for_pods()
    return space


def test_limited_resources_need_a_quota(fresh_server: FreshServer, tmp_path: Path) -> None:
    path = _configured(tmp_path, resource="pods", matchContains=["requests.cpu"])
    space = _server_with(fresh_server, path)
    asks = container("c", {"cpu": "1"})
    assert post_pod(space, "p", asks).message == (
        'pods "p" is forbidden: insufficient quota to consume: requests.cpu'
    )
    assert post_pod(space, "q").status == 201
    make_quota(space, "q", {"requests.cpu": "1"})
    assert post_pod(space, "p", asks).status == 201


def test_limited_scopes_need_a_quota(fresh_server: FreshServer, tmp_path: Path) -> None:
    selector = {"scopeName": "PriorityClass", "operator": "In", "values": [SYSTEM, "b"]}
    space = _server_with(
        fresh_server, _configured(tmp_path, resource="pods", matchScopes=[selector])
    )
    assert post_pod(space, "p", priorityClassName=SYSTEM).message == (
        'pods "p" is forbidden: insufficient quota to match these scopes:'
        f" [{{PriorityClass In [{SYSTEM} b]}}]"
    )
    assert post_pod(space, "q").status == 201
    make_quota(space, "q", {"pods": "1"}, **_selecting("PriorityClass", "In", SYSTEM))
    assert post_pod(space, "p", priorityClassName=SYSTEM).status == 201


@pytest.mark.parametrize(
    ("limited", "message"),
    [
        ({"matchContains": ["x"]}, "limitedResources[0].resource: is required"),
        (
            {"resource": "pods", "matchScopes": [{"scopeName": "Odd", "operator": "In"}]},
            'limitedResources[0].matchScopes[0].scopeName: unknown scope "Odd"',
        ),
        (
            {"resource": "pods", "matchScopes": [{"scopeName": "PriorityClass"}]},
            'limitedResources[0].matchScopes[0].operator: unknown operator ""',
        ),
    ],
)
def test_wrong_limited_resources_stop_the_start(
    tmp_path: Path, limited: Object, message: str
) -> None:
    path = _configured(tmp_path, **limited)
    done = failed_start(tmp_path, "--admission-control-config-file", str(path))
    assert f"{path}: plugins[0].configuration.{message}" in done.stderr


def _apply(space: Space, path: str, value: Object) -> int:
    return space.client.patch(path, value, kind=APPLY, fieldManager="m").status


def test_the_same_apply_is_judged_by_a_range_that_appeared_meanwhile(limited: Space) -> None:
    path = limited.collection("persistentvolumeclaims").item("c")
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    assert [_apply(limited, path, claim) for _ in range(3)] == [201, 200, 200]
    bound = {"type": "PersistentVolumeClaim", "max": {"storage": "1Mi"}}
    limited.collection("limitranges").create("l", spec={"limits": [bound]})
    assert _apply(limited, path, claim) == 403


def test_the_same_apply_uses_nothing_whatever_quota_appeared_meanwhile(limited: Space) -> None:
    """It is admitted, cached or not; after the object was deleted it is a create."""
    path = limited.collection("services").item("s")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    }
    assert [_apply(limited, path, service) for _ in range(3)] == [201, 200, 200]
    make_quota(limited, "q", {"services.nodeports": "0"})
    assert _apply(limited, path, service) == 200
    assert _apply(limited, path, service | {"metadata": {"name": "s", "labels": {"a": "b"}}}) == 200
    limited.collection("services").remove("s")
    becomes(limited, "q", {"services.nodeports": "0"})
    assert _apply(limited, path, service) == 403


def test_a_quota_counts_itself(limited: Space) -> None:
    make_quota(limited, "q", {"resourcequotas": "1"})
    assert used(limited, "q") == {"resourcequotas": "1"}
    quotas = limited.collection("resourcequotas")
    assert quotas.client.post(quotas.path, {"metadata": {"name": "r"}}).status == 403
    eventually(lambda: used(limited, "q") == {"resourcequotas": "1"}, "one quota")
