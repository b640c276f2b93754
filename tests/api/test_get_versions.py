"""The get table of document 1: what a `resourceVersion` on GET of an item means."""

from __future__ import annotations

from threading import Timer

import pytest
from support.namespaces import Space


def test_an_unset_version_reads_the_most_recent_state(space: Space) -> None:
    secret = space.secrets.create("a")
    secret["metadata"]["labels"] = {"x": "1"}
    changed = space.secrets.update(secret)
    assert space.secrets.read("a") == changed


def test_version_0_reads_any_state_and_the_freshest_is_at_hand(space: Space) -> None:
    secret = space.secrets.create("a")
    answer = space.secrets.get("a", resourceVersion="0")
    assert (answer.status, answer.version) == (200, secret["metadata"]["resourceVersion"])


@pytest.mark.both_dialects
def test_another_version_reads_a_state_that_is_not_older(space: Space) -> None:
    old = space.secrets.create("a")["metadata"]["resourceVersion"]
    new = space.secrets.label("a", x="1")["metadata"]["resourceVersion"]
    assert space.secrets.get("a", resourceVersion=old).version == new
    assert space.secrets.get("a", resourceVersion=new).version == new


def test_a_version_that_is_about_to_come_is_waited_for(space: Space) -> None:
    space.secrets.create("a")
    next_version = int(space.secrets.version()) + 1
    other = space.client.clone()
    writer = Timer(0.2, lambda: other.post(space.secrets.path, {"metadata": {"name": "b"}}))
    writer.start()
    answer = space.secrets.get("a", resourceVersion=next_version)
    writer.join()
    other.close()
    assert answer.status == 200


def test_a_version_that_does_not_come_is_504_with_a_time_to_retry(kubernetes: Space) -> None:
    kubernetes.secrets.create("a")
    future = int(kubernetes.secrets.version()) + 1000
    answer = kubernetes.secrets.get("a", resourceVersion=future)
    assert answer.status == 504
    assert answer.headers["Retry-After"] == "1"
    assert answer.message.startswith(f"Timeout: Too large resource version: {future}, current: ")
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": answer.message,
        "reason": "Timeout",
        "details": {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        "code": 504,
    }


def test_a_version_that_is_not_a_number_is_refused(space: Space) -> None:
    space.secrets.create("a")
    answer = space.secrets.get("a", resourceVersion="abc")
    assert answer.status == 400
    assert answer.message == (
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    )


def test_a_version_match_on_an_item_has_no_meaning_and_does_no_harm(space: Space) -> None:
    space.secrets.create("a")
    assert space.secrets.get("a", resourceVersionMatch="Exact").status == 200


def test_a_namespace_is_read_like_any_item(space: Space) -> None:
    answer = space.client.get(f"/api/v1/namespaces/{space.name}")
    assert answer.body["kind"] == "Namespace"
    assert answer.body["metadata"]["name"] == space.name
