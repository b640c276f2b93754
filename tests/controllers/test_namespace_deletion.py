"""A deleted namespace is emptied and goes."""

from __future__ import annotations

from support.things import Space
from support.waiting import eventually


def test_an_empty_namespace_goes(space: Space) -> None:
    path = f"/api/v1/namespaces/{space.name}"
    space.client.delete(path)
    eventually(lambda: space.client.get(path).status == 404, "the namespace goes")


def test_content_goes_with_its_namespace(space: Space) -> None:
    space.secrets.create("a")
    path = f"/api/v1/namespaces/{space.name}"
    space.client.delete(path)
    eventually(lambda: space.client.get(path).status == 404, "the namespace goes")
    assert space.secrets.get("a").status == 404


def test_a_finalizer_holds_the_namespace(space: Space) -> None:
    space.secrets.create("a", metadata={"finalizers": ["example.com/hold"]})
    path = f"/api/v1/namespaces/{space.name}"
    space.client.delete(path)
    eventually(
        lambda: bool(space.secrets.read("a")["metadata"].get("deletionTimestamp")),
        "the content is deleted",
    )
    assert space.client.get(path).body["status"]["phase"] == "Terminating"
    value = space.secrets.read("a")
    value["metadata"].pop("finalizers")
    space.secrets.update(value)
    eventually(lambda: space.client.get(path).status == 404, "the namespace goes")
