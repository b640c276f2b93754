"""metrics.k8s.io of simulated nodes: what nodes and containers use."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.client import Object
from support.extension import HERE, SERVICES, RawExtension, bundle
from support.kubectl import KUBECTL, Kubectl
from support.process import FreshServer
from support.simulation import Pods, asking, await_nodes, behaviour, container
from support.waiting import eventually

from fairlead.codec.protobuf import envelope, from_message
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.quantity import quantity

WINDOW = 15
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
with_kubectl = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl")


class Measured:
    """The metrics of the pods of a namespace and of the nodes."""

    def __init__(self, pods: Pods) -> None:
        self.client = pods.space.client
        self.group = f"/apis/{pods.server.dialect.group_name('metrics.@')}/v1beta1"
        self.pods = f"{self.group}/namespaces/{pods.space.name}/pods"
        self.nodes = f"{self.group}/nodes"

    def usage(self, name: str = "p", index: int = 0) -> dict[str, str]:
        answer = self.client.get(f"{self.pods}/{name}")
        assert answer.status == 200, answer.text
        usage: dict[str, str] = answer.body["containers"][index]["usage"]
        return usage

    def node_usage(self, name: str) -> dict[str, str]:
        usage: dict[str, str] = self.client.get(f"{self.nodes}/{name}").body["usage"]
        return usage

    def refusal(self, path: str, selector: str = "") -> tuple[int, str]:
        answer = self.client.get(path, fieldSelector=selector)
        return answer.status, answer.message


def used(**usage: str) -> dict[str, str]:
    """The annotations that set the usage."""
    return behaviour(**{f"{resource}_usage": text for resource, text in usage.items()})


def test_usage_is_a_share_of_the_requests_that_moves_with_the_clock(any_pods: Pods) -> None:
    any_pods.create("p", asking(cpu="2", memory="1Gi"), container("d"))
    any_pods.await_ready()
    measured = Measured(any_pods)
    before = measured.usage()
    assert 0.9 <= quantity(before["cpu"]) <= 1.1
    assert 0.63 <= quantity(before["memory"]) / 2**30 <= 0.77
    without = measured.usage(index=1)
    assert 0 < quantity(without["cpu"]) < 0.01
    any_pods.server.advance(10 * WINDOW)
    eventually(lambda: measured.usage() != before, "the usage moved")


def test_annotations_set_the_usage_exactly(any_pods: Pods) -> None:
    exact = {**used(cpu="1500m", memory="100Mi"), "simulation.fairlead/cpu-usage.d": "2e-3"}
    any_pods.create("p", asking(cpu="1"), container("d"), annotations=exact)
    any_pods.await_ready()
    measured = Measured(any_pods)
    assert measured.usage() == {"cpu": "1500m", "memory": "100Mi"}
    assert measured.usage(index=1) == {"cpu": "2e-3", "memory": "100Mi"}
    any_pods.collection.patch("p", {"metadata": {"annotations": used(cpu="3")}})
    assert measured.usage()["cpu"] == "3"


@pytest.mark.parametrize("text", ["-1", "1e999", "much", "", "1" * 70])
def test_an_invalid_usage_is_reported_and_ignored(pods: Pods, text: str) -> None:
    pods.create("p", asking(cpu="2"), annotations=used(cpu=text))
    pods.await_event("InvalidSimulation", text="simulation.fairlead/cpu-usage")
    pods.await_ready()
    assert 0.9 <= quantity(Measured(pods).usage()["cpu"]) <= 1.1


def test_only_running_containers_have_metrics(pods: Pods) -> None:
    pods.create("p", container("a"), container("b"))
    pods.create("waits", annotations=behaviour(start_delay="1h"))
    pods.create(
        "half",
        container("a", command=["sleep", "infinity"]),
        container("b"),
        annotations={"simulation.fairlead/exit-code.b": "0"},
        restartPolicy="OnFailure",
    )
    pods.await_ready("p")
    pods.await_waiting("ContainerCreating", "waits")
    eventually(lambda: "terminated" in pods.state("half", 1), "a container ended")
    measured = Measured(pods)
    listed = measured.client.get(measured.pods).body["items"]
    assert {
        item["metadata"]["name"]: [each["name"] for each in item["containers"]] for item in listed
    } == {"half": ["a"], "p": ["a", "b"]}
    group = measured.group.split("/")[2]
    name = f"{pods.space.name}/waits"
    missing = (404, f'podmetrics.{group} "{name}" not found')
    assert measured.refusal(f"{measured.pods}/waits") == missing
    assert measured.refusal(f"{measured.pods}/none") == (404, 'pods "none" not found')
    assert measured.refusal(f"{measured.nodes}/none") == (404, 'nodes "none" not found')


def test_a_node_uses_what_its_pods_use_and_some_more(any_pods: Pods) -> None:
    measured = Measured(any_pods)
    any_pods.create("p", annotations=used(cpu="7", memory="20Gi"), nodeName="simulated-1")
    any_pods.await_ready()
    usage = measured.node_usage("simulated-1")
    assert 7 < quantity(usage["cpu"]) < 8
    assert 20 < quantity(usage["memory"]) / 2**30 < 22
    listed = measured.client.get(measured.nodes).body["items"]
    assert [item["metadata"]["name"] for item in listed] == [
        f"simulated-{number}" for number in range(3)
    ]
    assert (listed[1]["usage"], listed[1]["window"]) == (usage, "15s")
    assert quantity(listed[0]["usage"]["cpu"]) < 1


def test_an_unreachable_node_has_no_metrics(pods: Pods) -> None:
    measured = Measured(pods)
    pods.create("p", nodeName="simulated-2")
    pods.await_ready()
    state = "simulation.fairlead/node-state"
    pods.nodes.patch("simulated-2", {"metadata": {"annotations": {state: "unreachable"}}})
    assert measured.client.get(measured.nodes).names == ["simulated-0", "simulated-1"]
    assert measured.client.get(measured.pods).names == []
    pods.nodes.patch("simulated-2", {"metadata": {"annotations": {state: None}}})
    assert measured.client.get(measured.pods).names == ["p"]


def test_metrics_are_selected_by_labels_and_names(pods: Pods) -> None:
    for name, app in (("p", "web"), ("q", "web"), ("r", "db")):
        pods.create(name, labels={"app": app})
    pods.await_ready("p", "q", "r")
    measured = Measured(pods)
    found = measured.client.get(measured.pods, labelSelector="app=web")
    assert found.names == ["p", "q"]
    assert found.body["items"][0]["metadata"]["labels"]["app"] == "web"
    everywhere = f"{measured.group}/pods"
    by_field = f"metadata.namespace={pods.space.name},metadata.name!=q"
    assert measured.client.get(everywhere, fieldSelector=by_field).names == ["p", "r"]
    zone = "topology.kubernetes.io/zone=simulated-b"
    assert measured.client.get(measured.nodes, labelSelector=zone).names == ["simulated-1"]
    status, text = measured.refusal(everywhere, selector="spec.nodeName=simulated-1")
    assert (status, "is not a known field selector" in text) == (400, True)
    assert measured.client.get(everywhere, watch="1").status == 405
    assert measured.client.delete(f"{measured.pods}/p").status == 405


def test_metrics_as_a_table_as_yaml_and_as_protobuf(pods: Pods) -> None:
    exact = used(cpu="250m", memory="64Mi")
    pods.create("p", container(), container("d"), annotations=exact)
    pods.await_ready()
    measured = Measured(pods)
    table = measured.client.get(measured.pods, headers={"Accept": TABLE}).body
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == ["Name", "cpu", "memory", "Window"]
    assert [row["cells"] for row in table["rows"]] == [["p", "500m", "128Mi", "15s"]]
    one = f"{measured.pods}/p"
    containers = measured.client.get(one).body["containers"]
    yaml = measured.client.get(one, headers={"Accept": "application/yaml"}).body
    assert (yaml["kind"], yaml["containers"]) == ("PodMetrics", containers)
    accept = {"Accept": pods.server.dialect.protobuf_media_type}
    _, kind, content = envelope(measured.client.get(one, headers=accept).content)
    decoded = from_message(
        BuiltinTypes(pods.server.dialect).struct(f"metrics/v1beta1.{kind}"), content
    )
    assert (decoded["window"], decoded["containers"]) == ("15s", containers)


def test_who_may_view_a_namespace_may_view_its_metrics(any_pods: Pods) -> None:
    any_pods.create()
    any_pods.await_ready()
    measured, bob = Measured(any_pods), {"Impersonate-User": "bob"}
    refused = measured.client.get(measured.pods, headers=bob)
    group = measured.group.split("/")[2]
    assert refused.status == 403
    assert f'cannot list resource "pods" in API group "{group}"' in refused.message
    rbac = any_pods.server.dialect.group_name("rbac.authorization.@")
    binding = {
        "metadata": {"name": "bob"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "bob"}],
    }
    where = f"/apis/{rbac}/v1/namespaces/{any_pods.space.name}/rolebindings"
    assert measured.client.post(where, binding).status == 201
    assert measured.client.get(measured.pods, headers=bob).names == ["p"]
    assert measured.client.get(measured.nodes, headers=bob).status == 403


def test_the_group_is_in_discovery_and_openapi(any_pods: Pods) -> None:
    measured = Measured(any_pods)
    entries = measured.client.get(measured.group).body["resources"]
    assert [(entry["name"], entry["kind"], entry["verbs"]) for entry in entries] == [
        ("nodes", "NodeMetrics", ["get", "list"]),
        ("pods", "PodMetrics", ["get", "list"]),
    ]
    assert measured.client.get(f"/openapi/v3{measured.group}").status == 200
    paths = measured.client.get("/openapi/v2").body["paths"]
    assert f"{measured.group}/nodes" in paths
    dialect = any_pods.server.dialect
    name = f"v1beta1.{dialect.group_name('metrics.@')}"
    service = measured.client.get(f"{SERVICES.format(domain=dialect.group_domain)}/{name}").body
    assert "service" not in service["spec"]


def test_the_group_needs_simulated_nodes(fresh_server: FreshServer) -> None:
    client = fresh_server().client()
    assert client.get("/apis/metrics.k8s.io/v1beta1").status == 404
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregated-metrics-reader"
    assert client.get(role).status == 404


def test_an_own_metrics_server_takes_over(fresh_server: FreshServer, tmp_path: Path) -> None:
    server = fresh_server("--simulate-nodes", "1", *HERE)
    client, group = server.client(), "/apis/metrics.k8s.io/v1beta1"
    service = f"{SERVICES.format(domain='k8s.io')}/v1beta1.metrics.k8s.io"
    own = RawExtension(tmp_path / "own")
    own.talk = lambda caller, head: caller.answer(b'{"kind": "Own"}')
    outer = {"type": "ExternalName", "externalName": "127.0.0.1"}
    client.post(
        "/api/v1/namespaces/default/services", {"metadata": {"name": "extension"}, "spec": outer}
    )
    where = {"namespace": "default", "name": "extension", "port": own.port}
    spec = {"service": where, "caBundle": bundle(own.ca)}
    assert client.patch(service, {"spec": spec}).status == 200

    def kind() -> str:
        answer = client.get(f"{group}/nodes")
        return str(answer.body["kind"]) if answer.status == 200 else ""

    eventually(lambda: kind() == "Own", "the own server answers")

    def is_managed() -> bool:
        return bool(client.get(service).body["metadata"].get("labels"))

    eventually(lambda: not is_managed(), "the server no longer manages it")
    assert client.delete(service).status == 200
    assert kind() == "NodeMetricsList"
    own.close()


@with_kubectl
def test_kubectl_top(pods_1_36: Pods, tmp_path: Path) -> None:
    await_nodes(pods_1_36.server, 3)
    pods_1_36.create("p", labels={"a": "b"}, annotations=used(cpu="1500m", memory="100Mi"))
    pods_1_36.create("q", annotations=used(cpu="2", memory="10Mi"))
    pods_1_36.await_ready("p", "q")
    kubectl = Kubectl(pods_1_36.server, pods_1_36.space.name, tmp_path)

    def rows(*words: str) -> list[list[str]]:
        return [line.split() for line in kubectl("top", *words, "--no-headers").splitlines()]

    p, q = ["p", "1500m", "100Mi"], ["q", "2000m", "10Mi"]
    assert rows("pods", "--sort-by=cpu") == [q, p]
    assert rows("pods", "--sort-by=memory") == [p, q]
    assert rows("pods", "-l", "a=b", "--containers") == [["p", "c", "1500m", "100Mi"]]
    assert [row[0] for row in rows("nodes")] == [f"simulated-{number}" for number in range(3)]


def test_sums_of_many_containers(pods: Pods) -> None:
    """The largest usage of many containers is still a quantity."""
    containers: list[Object] = [container(f"c{number}") for number in range(500)]
    pods.create("p", *containers, annotations=used(memory="1Ei"))
    pods.await_ready()
    measured = Measured(pods)
    table = measured.client.get(f"{measured.pods}/p", headers={"Accept": TABLE}).body
    assert table["rows"][0]["cells"][2] == "500Ei"
    node = measured.node_usage(pods.node_of())
    assert quantity(node["memory"]) > 0
