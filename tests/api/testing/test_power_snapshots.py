"""The testing API: snapshots."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from support.power import Power


def test_everything_is_as_it_was(power: Power) -> None:
    power.maps.create("changed", data={"k": "before"})
    power.maps.create("deleted")
    kept = power.snapshot()
    value = power.maps.read("changed")
    value["data"] = {"k": "after"}
    power.maps.update(value)
    power.maps.remove("deleted")
    power.maps.create("new")

    power.restore(kept)

    assert power.maps.read("changed")["data"] == {"k": "before"}
    assert power.maps.get("deleted").status == 200
    assert power.maps.get("new").status == 404


def test_objects_keep_their_identity(power: Power) -> None:
    uid = power.maps.create("a")["metadata"]["uid"]
    kept = power.snapshot()
    power.maps.remove("a")
    power.restore(kept)
    assert power.maps.read("a")["metadata"]["uid"] == uid


def test_revisions_keep_rising(power: Power) -> None:
    kept = power.snapshot()
    stored = power.maps.create("a")
    restored = power.restore(kept)
    assert int(restored["resourceVersion"]) > int(stored["metadata"]["resourceVersion"])
    again = power.maps.create("a")
    assert int(again["metadata"]["resourceVersion"]) > int(restored["resourceVersion"])


def test_watches_end_with_410(power: Power) -> None:
    kept = power.snapshot()
    with power.maps.watch() as watch:
        stored = power.maps.create("a")
        watch.until("a")
        power.restore(kept)
        last = watch.rest()[-1]
    assert last.type == "ERROR"
    assert last.object["code"] == 410
    old = stored["metadata"]["resourceVersion"]
    listed = power.maps.list(resourceVersion=old, resourceVersionMatch="Exact")
    assert listed.status == 410


def test_it_can_be_gone_back_to_again_and_again(power: Power) -> None:
    kept = power.snapshot()
    for _ in range(3):
        power.maps.create("a")
        assert power.restore(kept)["changed"] >= 1
        assert power.maps.get("a").status == 404


def test_definitions_and_what_they_define_come_and_go(power: Power) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    group = f"{power.space.name}.example.org"
    kept = power.snapshot()
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "boats", "kind": "Boat"}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": [version]}
    power.client.post(definitions, {"metadata": {"name": f"boats.{group}"}, "spec": spec})
    power.do("idlewaits")
    assert power.client.get(f"/apis/{group}/v1/boats").status == 200
    power.restore(kept)
    power.do("idlewaits")
    assert power.client.get(f"/apis/{group}/v1/boats").status == 404


def test_controllers_go_on_from_what_was(power: Power) -> None:
    power.space.client.post(
        f"/apis/apps/v1/namespaces/{power.space.name}/deployments",
        {
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        },
    )
    power.do("idlewaits")
    pods = f"/api/v1/namespaces/{power.space.name}/pods"
    before = power.client.get(pods).names
    kept = power.snapshot()
    for name in before:
        power.client.delete(f"{pods}/{name}", {"gracePeriodSeconds": 0})
    power.restore(kept)
    power.do("idlewaits")
    assert power.client.get(pods).names == before


def test_those_who_write_on_and_on_do_not_keep_it_waiting(power: Power) -> None:
    kept = power.snapshot()
    ended = Event()

    def write(number: int) -> None:
        client = power.client.clone()
        for count in itertools.count():
            if ended.is_set():
                break
            name = f"w{number}-{count}"
            client.post(power.maps.path, {"metadata": {"name": name}})
        client.close()

    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        try:
            changed = [power.restore(kept)["changed"] for _ in range(20)]
        finally:
            ended.set()
    assert all(writer.exception() is None for writer in writers)
    assert any(changed)


def test_one_that_is_not_there(power: Power) -> None:
    answer = power.ask("snapshots/nothing/restore")
    assert (answer.status, answer.message) == (
        404,
        'snapshots.testing.fairlead.dev "nothing" not found',
    )


def test_they_are_listed_and_deleted(power: Power) -> None:
    name = power.snapshot()
    listed = power.client.get(f"{power.base}/snapshots")
    assert name in listed.names
    assert power.client.delete(f"{power.base}/snapshots/{name}").status == 200
    assert power.client.get(f"{power.base}/snapshots/{name}").status == 404
