"""`fairlead describe`: related objects, in both dialects."""

from __future__ import annotations

from typing import Any

import pytest
from support.commands import Commands
from support.namespaces import Space, random_word
from support.waiting import eventually

CONTAINERS = [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "500m"}}}]


def described(fairlead: Commands, *words: str) -> dict[str, str]:
    """The lines with a name and a value, as far as they stand at the left."""
    lines = fairlead("describe", *words).splitlines()
    pairs = (line.partition(":") for line in lines if line[:1].strip())
    return {name: value.strip() for name, _, value in pairs}


def block(text: str, head: str) -> list[list[str]]:
    """The words of the lines below a head."""
    lines = text.splitlines()
    below = lines[lines.index(head) + 1 :]
    end = next((at for at, line in enumerate(below) if line[:1].strip()), len(below))
    return [line.split() for line in below[:end] if line.strip()]


def event(space: Space, name: str, about: dict[str, Any], **fields: Any) -> None:
    reference = {
        "kind": about["kind"],
        "name": about["metadata"]["name"],
        "namespace": space.name,
        "uid": about["metadata"]["uid"],
    }
    space.collection("events").create(name, involvedObject=reference, type="Normal", **fields)


def test_events_come_in_the_order_in_which_they_were_last_seen(fairlead: Commands) -> None:
    space = fairlead.space
    created = space.config_maps.create("a") | {"kind": "ConfigMap"}
    other = space.config_maps.create("other") | {"kind": "ConfigMap"}
    times = {"firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-03T00:00:00Z"}
    source = {"source": {"component": "me"}}
    event(space, "later", created, reason="Later", message=" done\n", count=3, **times, **source)
    times["lastTimestamp"] = "2020-01-02T00:00:00Z"
    event(space, "sooner", created, reason="Sooner", message="begun", count=1, **times, **source)
    event(space, "others", other, reason="Others", **times, **source)
    head, _, first, last = block(fairlead("describe", "cm", "a"), "Events:")
    assert head == ["Type", "Reason", "Age", "From", "Message"]
    assert (first[1], first[3:]) == ("Sooner", ["me", "begun"])
    assert (last[1], last[3:5], last[6:]) == ("Later", ["(x3", "over"], ["me", "done"])


def test_a_namespace_is_shown_with_what_limits_it(fairlead: Commands) -> None:
    space = fairlead.space
    space.collection("resourcequotas").create("q", spec={"hard": {"configmaps": "5"}})
    limit = {"type": "Container", "max": {"cpu": "2"}}
    space.collection("limitranges").create("l", spec={"limits": [limit]})
    quotas = space.collection("resourcequotas")
    eventually(lambda: "hard" in quotas.read("q")["status"], "the quota is reckoned")
    text = fairlead("describe", "ns", space.name)
    assert ["Name:", "q"] in block(text, "Resource Quotas")
    assert block(text, "Resource Quotas")[-1][::2] == ["configmaps", "5"]
    assert block(text, "Resource Limits")[-1][:4] == ["Container", "cpu", "-", "2"]


@pytest.mark.both_dialects
def test_a_node_is_shown_with_its_pods_and_what_they_take(fairlead: Commands) -> None:
    space = fairlead.space
    space.ready_for_pods()
    role = space.dialect.label("node-role.@/worker")
    nodes = space.everywhere("nodes")
    nodes.create(space.name, labels={role: ""})
    status = {"status": {"capacity": {"cpu": "2", "memory": "1Gi", "pods": "9"}}}
    nodes.client.patch(nodes.item(space.name, "status"), status)
    space.collection("pods").create("p", spec={"nodeName": space.name, "containers": CONTAINERS})
    text = fairlead("describe", "node", space.name)
    nodes.remove(space.name)
    assert "Roles:              worker\n" in text
    assert f'leases.{space.dialect.group_name("coordination.@")} "{space.name}" not found' in text
    pods = next(line for line in text.splitlines() if line.startswith("Non-terminated Pods:"))
    assert pods.endswith("(1 in total)")
    assert block(text, pods)[-1][:4] == [space.name, "p", "500m", "(25%)"]
    totals = "Allocated resources:"
    assert ["cpu", "500m", "(25%)", "0", "(0%)"] in block(text, totals)


def test_a_service_is_shown_with_the_first_of_its_addresses(fairlead: Commands) -> None:
    space = fairlead.space
    space.collection("services").create("s", spec={"ports": [{"name": "web", "port": 80}]})
    addresses = [{"ip": f"10.0.0.{number}"} for number in range(1, 6)]
    subset = {"addresses": addresses, "ports": [{"name": "web", "port": 8080}]}
    space.collection("endpoints").create("s", subsets=[subset])
    endpoints = described(fairlead, "svc", "s")["Endpoints"]
    assert endpoints == "10.0.0.1:8080,10.0.0.2:8080,10.0.0.3:8080 + 2 more..."


def test_a_deployment_is_shown_with_its_old_and_new_replica_sets(fairlead: Commands) -> None:
    deployments = fairlead.space.collection("deployments", "apps")
    fairlead.space.ready_for_pods()
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}
    deployments.create("web", spec={"selector": {"matchLabels": labels}, "template": template})

    def new() -> str:
        return described(fairlead, "deploy", "web").get("NewReplicaSet", "")

    eventually(lambda: new().endswith("(1/1 replicas created)"), "the first one is there")
    first = new()
    note = {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
    assert deployments.patch("web", note).status == 200
    eventually(lambda: new() not in ("<none>", first), "there is another one")
    assert described(fairlead, "deploy", "web")["OldReplicaSets"].startswith(first.split()[0])


@pytest.mark.both_dialects
def test_values_of_secrets_are_not_shown(fairlead: Commands) -> None:
    token = fairlead.space.dialect.label("@/service-account-token")
    note = fairlead.space.dialect.label("@/service-account.name")
    fairlead.space.collection("serviceaccounts").create("robot")
    metadata = {"annotations": {note: "robot"}}
    fairlead.space.secrets.create("t", metadata=metadata, type=token)
    fairlead.space.secrets.create("s", stringData={"k": "hidden"})
    assert described(fairlead, "secret", "s")["k"] == "6 bytes"
    secrets = fairlead.space.secrets
    eventually(lambda: "token" in secrets.read("t").get("data", {}), "the token is made")
    assert described(fairlead, "secret", "t")["token"].endswith(" bytes")
    assert described(fairlead, "sa", "robot")["Tokens"] == "t"


@pytest.mark.both_dialects
def test_a_default_storage_class_is_marked_in_the_servers_dialect(fairlead: Commands) -> None:
    classes = fairlead.space.everywhere("storageclasses", "storage.@")
    name = random_word()
    mark = fairlead.space.dialect.label("storageclass.@/is-default-class")
    classes.create(name, metadata={"annotations": {mark: "true"}}, provisioner="p.example.org")
    description = described(fairlead, "storageclass", name)
    classes.remove(name)
    assert (description["IsDefaultClass"], description["Provisioner"]) == ("Yes", "p.example.org")


@pytest.fixture
def eve(fairlead: Commands) -> Commands:
    """Commands of a user who may get objects and list nothing."""
    space = fairlead.space
    group = space.dialect.group_name("rbac.authorization.@")
    rule = {"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["get"]}
    space.everywhere("clusterroles", "rbac.authorization.@").create(space.name, rules=[rule])
    space.everywhere("clusterrolebindings", "rbac.authorization.@").create(
        space.name,
        roleRef={"apiGroup": group, "kind": "ClusterRole", "name": space.name},
        subjects=[{"apiGroup": group, "kind": "User", "name": space.name}],
    )
    return fairlead


def test_what_a_user_may_not_see_does_not_hide_the_rest(eve: Commands) -> None:
    space = eve.space
    space.ready_for_pods()
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}
    spec = {"serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    space.collection("statefulsets", "apps").create("db", spec=spec)
    size = {"requests": {"storage": "1Gi"}}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "no", "resources": size}
    space.collection("persistentvolumeclaims").create("c", spec=claim)
    who = ("--as", space.name)
    description = described(eve, "sts/db", *who)
    assert description["Pods Status"].startswith("error in fetching pods: pods is forbidden")
    assert described(eve, "pvc/c", *who)["Used By"] == "not authorized"
    assert described(eve, f"ns/{space.name}", *who)["Resource quotas"] == "not authorized"
    assert described(eve, "sa/default", *who)["Events"] == "<none>"
