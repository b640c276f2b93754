"""Quotas and limit ranges hold for resizes of pods in release 1.36."""

from __future__ import annotations

from support.namespaces import Space
from support.waiting import eventually

POD = {
    "automountServiceAccountToken": False,
    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
}


def resized(space: Space, cpu: str) -> tuple[int, str]:
    pods = space.collection("pods")
    requests = {"requests": {"cpu": cpu}}
    value = pods.read("p")
    value["spec"]["containers"][0]["resources"] = requests
    answer = pods.client.put(pods.item("p", "resize"), value)
    return answer.status, str(answer.body.get("message", ""))


def test_a_resize_is_charged_to_the_quota(space_1_36: Space) -> None:
    space_1_36.collection("pods").create("p", spec=POD)
    quotas = space_1_36.collection("resourcequotas")
    quotas.create("q", spec={"hard": {"requests.cpu": "2"}})
    eventually(lambda: "used" in quotas.read("q").get("status", {}), "the quota is counted")
    assert resized(space_1_36, "1500m")[0] == 200
    assert quotas.read("q")["status"]["used"] == {"requests.cpu": "1500m"}
    status, message = resized(space_1_36, "3")
    assert (status, "exceeded quota: q" in message) == (403, True)


def test_a_resize_keeps_to_the_limit_range(space_1_36: Space) -> None:
    space_1_36.collection("pods").create("p", spec=POD)
    bounds = {"type": "Container", "min": {"cpu": "500m"}}
    space_1_36.collection("limitranges").create("l", spec={"limits": [bounds]})
    assert resized(space_1_36, "600m")[0] == 200
    status, message = resized(space_1_36, "100m")
    assert (status, "minimum cpu usage per Container is 500m" in message) == (403, True)


def test_the_table_of_a_resize_has_the_name_and_the_age_only(space_1_36: Space) -> None:
    pods = space_1_36.collection("pods")
    pods.create("p", spec=POD)
    accept = f"application/json;as=Table;g={space_1_36.dialect.meta_group};v=v1"
    table = pods.client.get(pods.item("p", "resize"), headers={"Accept": accept}).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Created At"]
