"""Recently denied requests, for administrators and for the denied users."""

from __future__ import annotations

from support.client import Object
from support.history import alice, as_alice, items
from support.namespaces import Space, random_word


def denied(space: Space) -> list[Object]:
    """Return the denied requests of alice in the test's namespace, read by an administrator."""
    listed = items(space.client.get("/history/denied"))
    return [item for item in listed if item.get("namespace") == space.name]


def test_a_refusal_tells_who_wanted_what_and_why_not(space: Space) -> None:
    answer = as_alice(space, space.secrets).get("a")
    [item] = denied(space)
    assert {name: item[name] for name in ("user", "verb", "resource", "name", "code")} == {
        "user": "alice",
        "verb": "get",
        "resource": "secrets",
        "name": "a",
        "code": 403,
    }
    assert item["message"] == answer.message
    assert "system:authenticated" in item["groups"]
    assert item["time"] >= item["firstTime"]


def test_the_same_refusal_is_counted(space: Space) -> None:
    collection = as_alice(space, space.secrets)
    for _ in range(3):
        collection.list()
    collection.delete("a")
    assert [(item["verb"], item["count"]) for item in denied(space)] == [("list", 3), ("delete", 1)]


def test_paths_beside_the_api_are_told_as_such(space: Space) -> None:
    path = f"/metrics/{random_word()}"
    alice(space).get(path)
    [item] = [
        item for item in items(space.client.get("/history/denied")) if item.get("path") == path
    ]
    assert item["verb"] == "get"


def test_who_may_not_act_as_another_is_told_of(space: Space) -> None:
    name = random_word()
    alice(space).get("/api", headers={"Impersonate-User": name})
    [item] = [
        item for item in items(space.client.get("/history/denied")) if item.get("name") == name
    ]
    assert (item["user"], item["verb"], item["resource"]) == ("alice", "impersonate", "users")


def test_everybody_sees_their_own_and_administrators_all(space: Space) -> None:
    as_alice(space, space.secrets).list()
    client = alice(space)
    assert client.get("/history/denied").status == 403
    own = items(client.get("/history/denied", mine="true"))
    assert {item["user"] for item in own} == {"alice"}
    assert space.name in [item.get("namespace") for item in own]
    assert items(space.client.get("/history/denied", mine="true")) == []


def test_what_admission_refuses_is_not_of_the_authorizer(space: Space) -> None:
    space.client.post("/api/v1/namespaces/none-such/configmaps", {"metadata": {"name": "a"}})
    listed = items(space.client.get("/history/denied"))
    assert "none-such" not in [item.get("namespace") for item in listed]


def test_the_last_two_hundred_are_kept_and_long_ones_are_cut(kubernetes: Space) -> None:
    collection = as_alice(kubernetes, kubernetes.secrets)
    collection.get("x" * 3000)
    for number in range(210):
        collection.get(f"s{number}")
    collection.get("s100")
    listed = items(kubernetes.client.get("/history/denied"))
    assert len(listed) == 200
    assert listed[-1]["name"] == "s100"
    assert all(len(item["name"]) < 600 for item in listed)


def test_denied_requests_can_only_be_read(space: Space) -> None:
    assert space.client.delete("/history/denied").status == 405
