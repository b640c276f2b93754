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


def test_a_job_does_not_hold_its_namespace(space: Space) -> None:
    """Jobs orphan their pods when nothing else is said, which would wait for somebody to do it."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    made = space.client.post(
        f"/apis/batch/v1/namespaces/{space.name}/jobs",
        {"metadata": {"name": "j"}, "spec": {"template": template}},
    )
    assert made.status == 201
    path = f"/api/v1/namespaces/{space.name}"
    space.client.delete(path)
    eventually(lambda: space.client.get(path).status == 404, "the namespace goes")


def test_the_status_says_what_remains(space: Space) -> None:
    space.secrets.create("a", metadata={"finalizers": ["example.com/hold"]})
    path = f"/api/v1/namespaces/{space.name}"
    space.client.delete(path)

    def conditions() -> dict[str, tuple[str, str]]:
        found = space.client.get(path).body["status"].get("conditions") or ()
        return {c["type"]: (c["status"], c["message"]) for c in found}

    eventually(lambda: "NamespaceContentRemaining" in conditions(), "the status is written")
    told = conditions()
    assert told["NamespaceDeletionContentFailure"][0] == "False"
    assert told["NamespaceContentRemaining"] == (
        "True",
        "Some resources are remaining: secrets. has 1 resource instances",
    )
    assert told["NamespaceFinalizersRemaining"] == (
        "True",
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource"
        " instances",
    )
    value = space.secrets.read("a")
    value["metadata"].pop("finalizers")
    space.secrets.update(value)
    eventually(lambda: space.client.get(path).status == 404, "the namespace goes")
