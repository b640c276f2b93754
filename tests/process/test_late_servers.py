"""A server that hears late of what others write decides by what was acknowledged all the same.

Writes do not ask for the newest state first: these are the decisions that would be wrong if nothing
else told that it has moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support.client import Answer, Client, Object
from support.etcd import needs_etcd
from support.namespaces import random_word
from support.process import MOVABLE_CLOCK
from support.two_servers import Fleet
from support.waiting import eventually

pytestmark = needs_etcd

# The second server is told of everything a little late.
LATE = """exec('''
import asyncio
from fairlead.storage.etcd.feed import Watch
read = Watch.read
async def late(self):
    told = await read(self)
    await asyncio.sleep(0.04)
    return told
Watch.read = late
''')"""
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata}]
"""
ROUNDS = 5
RBAC = "/apis/rbac.authorization.k8s.io/v1"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Pair:
    """Writes at `one` are committed before `late` gets a request."""

    def __init__(self, directory: Path) -> None:
        policy = directory / "policy.yaml"
        policy.write_text(POLICY)
        self._log = directory / "audit.log"
        flags = ("--audit-policy-file", str(policy), "--audit-log-path", str(self._log))
        self.fleet = Fleet(directory, (MOVABLE_CLOCK, LATE), flags)
        self.one, self.late = (member.client for member in self.fleet.members)

    def namespace(self) -> str:
        name = f"n-{random_word()}"
        assert self.one.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
        return name

    def events(self, answer: Answer) -> list[str]:
        """Return the stages of a request in the audit log of the late server."""
        lines = map(json.loads, self._log.read_bytes().splitlines())
        result = answer.headers["Audit-Id"]
        return [line["stage"] for line in lines if line["auditID"] == result]

    def counted(self, code: int) -> float:
        """Return how many creates of config maps the late server answered with this code."""
        wanted = ("apiserver_request_total{", f'code="{code}"', 'resource="configmaps"', '"POST"')
        lines = self.late.get("/metrics").text.splitlines()
        texts = [line for line in lines if all(item in line for item in wanted)]
        return sum(float(line.rpartition(" ")[2]) for line in texts)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    create_at = Pair(tmp_path_factory.mktemp("pair"))
    yield create_at
    create_at.fleet.close()


def config_maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def config_map(**fields: object) -> Object:
    return {"metadata": {"name": f"c-{random_word()}"}, **fields}


def create_at(client: Client, path: str, body: Object) -> str:
    """Create an object; return its path."""
    answer = client.post(path, body)
    assert answer.status == 201, answer.text
    return f"{path}/{answer.body['metadata']['name']}"


def let(client: Client, namespace: str, *subjects: Object) -> str:
    """Let others do everything in a namespace; gives the path of the binding."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    binding = {"metadata": {"name": f"b-{random_word()}"}, "subjects": subjects, "roleRef": role}
    return create_at(client, f"{RBAC}/namespaces/{namespace}/rolebindings", binding)


def user(name: str) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}


def test_a_role_counts_as_soon_as_it_is_given_and_until_it_is_revoked(pair: Pair) -> None:
    path = config_maps(namespace := pair.namespace())
    alice = pair.fleet.members[1].server.keep(pair.late.clone("alice-token"))
    for _ in range(ROUNDS):
        binding = let(pair.one, namespace, user("alice"))
        item = create_at(alice, path, config_map())
        assert alice.patch(item, {"data": {"a": "1"}}).status == 200
        assert pair.one.delete(binding).status == 200
        assert alice.post(path, config_map()).status == 403
        assert alice.patch(item, {"data": {"a": "2"}}).status == 403
        assert alice.delete(item).status == 403


def test_a_namespace_takes_objects_from_its_creation_until_its_deletion(pair: Pair) -> None:
    for _ in range(ROUNDS):
        path = config_maps(namespace := pair.namespace())
        held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
        create_at(pair.late, path, held)
        assert pair.one.delete(f"/api/v1/namespaces/{namespace}").status == 200
        refused = pair.late.post(path, config_map())
        assert (refused.status, "is being terminated" in refused.message) == (403, True)
        pair.one.patch(f"{path}/held", {"metadata": {"finalizers": None}})


def test_a_webhook_is_asked_as_soon_as_it_is_registered(pair: Pair) -> None:
    path = config_maps(pair.namespace())
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    webhook = {
        "name": "nobody.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{**rule, "operations": ["*"]}],
        "objectSelector": {"matchLabels": {"asked": "yes"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    for _ in range(ROUNDS):
        item = create_at(
            pair.one, HOOKS, {"metadata": {"name": f"w-{random_word()}"}, "webhooks": [webhook]}
        )
        wanted = config_map()
        wanted["metadata"]["labels"] = {"asked": "yes"}
        assert "failed calling webhook" in pair.late.post(path, wanted).message
        assert pair.one.delete(item).status == 200
        assert pair.late.post(path, wanted).status == 201


def test_custom_objects_are_served_as_soon_as_their_definition_is(pair: Pair) -> None:
    for _ in range(ROUNDS):
        kind = random_word().lower()
        names = {"plural": f"{kind}s", "singular": kind, "kind": kind.title()}
        schema = {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        }
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        definition = {
            "metadata": {"name": f"{kind}s.example.com"},
            "spec": {
                "group": "example.com",
                "names": names,
                "scope": "Cluster",
                "versions": [version],
            },
        }
        create_at(pair.one, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        path = f"/apis/example.com/v1/{kind}s"
        eventually(partial(_is_served, pair.one, path), "it is served")
        head = {"apiVersion": "example.com/v1", "kind": kind.title()}
        create_at(pair.late, path, {**head, **config_map()})


def test_writes_to_an_object_are_made_to_what_it_is(pair: Pair) -> None:
    path = config_maps(pair.namespace())
    for _ in range(ROUNDS):
        item = create_at(pair.one, path, config_map(data={"a": "1"}))
        same = {"metadata": {"name": item.rpartition("/")[2]}}
        assert pair.late.post(path, same).status == 409
        changed = pair.one.patch(item, {"data": {"b": "2"}})
        assert pair.late.patch(item, {"data": {"b": "2"}}).version == changed.version
        assert pair.late.patch(item, {"data": {"c": "3"}}).body["data"] == {
            "a": "1",
            "b": "2",
            "c": "3",
        }
        newest = pair.one.patch(item, {"data": {"d": "4"}}).body
        newest["data"]["e"] = "5"
        replaced = pair.late.put(item, newest)
        assert (replaced.status, len(replaced.body["data"])) == (200, 5)
        assert pair.late.put(item, newest).status == 409
        pair.one.delete(item)
        assert pair.late.patch(item, {"data": {"f": "6"}}).status == 404
        again = create_at(pair.late, path, same)
        assert pair.one.delete(again).status == 200
        assert pair.late.delete(again).status == 404


def test_a_collection_is_deleted_with_all_that_was_created(pair: Pair) -> None:
    path = config_maps(pair.namespace())
    for _ in range(ROUNDS):
        item = create_at(pair.one, path, config_map())
        assert pair.late.delete(path).status == 200
        assert pair.one.get(item).status == 404


def _is_served(client: Client, path: str) -> bool:
    return client.get(path).status == 200


def _is_counted(client: Client, quota: str) -> bool:
    return "hard" in client.get(quota).body["status"]


def test_a_quota_counts_as_soon_as_it_is_told(pair: Pair) -> None:
    path = config_maps(namespace := pair.namespace())
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/configmaps": "0"}}}
    for _ in range(ROUNDS):
        item = create_at(pair.one, f"/api/v1/namespaces/{namespace}/resourcequotas", quota)
        eventually(partial(_is_counted, pair.one, item), "it is known")
        assert "exceeded quota" in pair.late.post(path, config_map()).message
        assert pair.one.delete(item).status == 200
        pair.late.delete(create_at(pair.late, path, config_map()))


def test_a_token_of_a_pod_is_good_as_long_as_the_pod_is_there(pair: Pair) -> None:
    namespace = pair.namespace()
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    account = create_at(pair.one, accounts, {"metadata": {"name": "worker"}})
    subject = {"kind": "ServiceAccount", "name": "worker", "namespace": namespace}
    let(pair.one, namespace, subject)
    spec = {"serviceAccountName": "worker", "containers": [{"name": "c", "image": "i"}]}
    for _ in range(2):
        pods = f"/api/v1/namespaces/{namespace}/pods"
        pod = create_at(pair.one, pods, {**config_map(), "spec": spec})
        ref = {"kind": "Pod", "apiVersion": "v1", "name": pod.rpartition("/")[2]}
        answer = pair.one.post(f"{account}/token", {"spec": {"boundObjectRef": ref}})
        token = answer.body["status"]["token"]
        worker = pair.fleet.members[1].server.keep(pair.late.clone(token))
        create_at(worker, config_maps(namespace), config_map())
        assert pair.one.delete(pod, gracePeriodSeconds=0).status == 200
        assert worker.post(config_maps(namespace), config_map()).status == 401


def test_a_request_that_is_done_again_is_one_to_the_audit_log_and_the_metrics(pair: Pair) -> None:
    path = config_maps(pair.namespace())  # the late one hears of it while it works
    before = pair.counted(201)
    answer = pair.late.post(path, config_map())
    assert answer.status == 201
    assert pair.events(answer) == ["RequestReceived", "ResponseComplete"]
    assert pair.counted(201) == before + 1
