"""Random graphs of owners, random deletes and kills at random moments: the result is always
right."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from support.client import Client, Object
from support.namespaces import Collection, Space
from support.owners import depend, reference
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

POLICIES = ("Background", "Foreground", "Orphan")


def is_at_rest(values: list[Object]) -> bool:
    """Whether nothing is being deleted, and everybody who has owners has one that exists and none
    that does not."""
    there = {value["metadata"]["uid"] for value in values}
    for value in values:
        named = {owner["uid"] for owner in value["metadata"].get("ownerReferences") or ()}
        if "deletionTimestamp" in value["metadata"] or not named <= there:
            return False
    return True


def listed(collection: Collection) -> list[Object]:
    items: list[Object] = collection.list().body["items"]
    return items


def name_of(value: Object) -> str:
    return str(value["metadata"]["name"])


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_has_owners_that_are_there(kubernetes: Space, seed: int) -> None:
    dice = random.Random(seed)
    secrets = kubernetes.secrets
    created: list[Object] = []
    free: set[str] = set()  # names of those that never had an owner
    for number in range(30):
        named = dice.sample(created, min(len(created), dice.choice((0, 1, 1, 2, 3))))
        references = [reference(item, blockOwnerDeletion=dice.random() < 0.6) for item in named]
        created.append(depend(secrets, f"s-{number}", *references))
        if not named:
            free.add(name_of(created[-1]))
    for item in dice.sample(created[:15], 3):  # some circles
        references = [reference(dice.choice(created), blockOwnerDeletion=dice.random() < 0.6)]
        secrets.patch(name_of(item), {"metadata": {"ownerReferences": references}})
        free.discard(name_of(item))
    deleted = set(map(name_of, dice.sample(created, 6)))
    for name in deleted:
        secrets.delete(name, propagationPolicy=dice.choice(POLICIES))
    eventually(lambda: is_at_rest(listed(secrets)), "all is at rest")
    assert free - deleted <= set(secrets.names())
    assert not deleted & set(secrets.names())


class Attempt:
    """A server that is killed now and then while it deletes."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.client: Client = server.client()

    def collection(self, resource: str, namespace: str = "default") -> Collection:
        return Collection(self.client, f"/api/v1/namespaces/{namespace}/{resource}")

    def kill_after(self, seconds: float) -> None:
        time.sleep(seconds)
        self.server.kill()
        self.client = self.server.start().client()

    def exists(self, path: str) -> bool:
        return self.client.get(path).status == 200


def cascade(attempt: Attempt, policy: str) -> Object:
    """An owner of several, each of whom owns some."""
    maps, secrets = attempt.collection("configmaps"), attempt.collection("secrets")
    owner = maps.create(f"owner-{policy.lower()}")
    for number in range(8):
        name = f"{policy.lower()}-{number}"
        child = depend(secrets, name, reference(owner, blockOwnerDeletion=True))
        for grandchild in range(12):
            depend(secrets, f"{name}-{grandchild}", reference(child, blockOwnerDeletion=True))
    return owner


def test_kills_in_the_middle_change_nothing_about_the_end(fresh_server: FreshServer) -> None:
    attempt = Attempt(fresh_server())
    dice = random.Random()
    owners = {policy: cascade(attempt, policy) for policy in POLICIES}
    spaces = [f"going-{number}" for number in range(3)]
    for name in spaces:
        assert attempt.client.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
        for number in range(20):
            attempt.collection("secrets", name).create(f"s-{number}")
    for policy, owner in owners.items():
        name = owner["metadata"]["name"]
        attempt.collection("configmaps").delete(name, propagationPolicy=policy)
    for name in spaces:
        attempt.client.delete(f"/api/v1/namespaces/{name}")
    for _ in range(2):
        attempt.kill_after(dice.uniform(0.0, 0.06))

    def is_over() -> bool:
        secrets, maps = attempt.collection("secrets"), attempt.collection("configmaps")
        if any(attempt.exists(f"/api/v1/namespaces/{name}") for name in spaces):
            return False
        if any(name.startswith("owner-") for name in maps.names()):
            return False
        return is_at_rest(listed(secrets)) and len(secrets.names()) == 8 * 13

    eventually(is_over, "only what was set free is left")
    assert all(name.startswith("orphan") for name in attempt.collection("secrets").names())


def test_what_happened_while_nobody_collected_is_made_up_for(fresh_server: FreshServer) -> None:
    server: Any = fresh_server("--controllers=*,-garbagecollector")
    attempt = Attempt(server)
    maps, secrets = attempt.collection("configmaps"), attempt.collection("secrets")
    owner, waiting = maps.create("owner"), maps.create("waiting")
    for item in (owner, waiting):
        depend(secrets, item["metadata"]["name"], reference(item, blockOwnerDeletion=True))
    maps.remove("owner")
    maps.delete("waiting", propagationPolicy="Foreground")
    assert sorted(secrets.names()) == ["owner", "waiting"]
    assert maps.read("waiting")["metadata"]["finalizers"] == ["foregroundDeletion"]
    server.stop()
    server.flags = ()
    attempt = Attempt(server.start())
    eventually(lambda: attempt.collection("secrets").names() == [], "all dependents are gone")
    eventually(
        lambda: attempt.collection("configmaps").get("waiting").status == 404, "the owner is gone"
    )
