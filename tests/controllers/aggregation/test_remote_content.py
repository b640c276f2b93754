"""Objects of a namespace on extension servers are deleted with it, or keep it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.client import Object
from support.namespaces import Space
from support.neighbour import Reply
from support.registered import Gadgets, Shelved
from support.waiting import eventually

from fairlead.codec.bodies import MAX_VALUES
from fairlead.wire.outgoing.response import MAX_RESPONSE_BYTES

DISCOVERY = "NamespaceDeletionDiscoveryFailure"
CONTENT = "NamespaceDeletionContentFailure"


@pytest.fixture
def shelved(running: Shelved) -> Iterator[Shelved]:
    running.shelf.reset()
    yield running
    for name in running.services.names():
        if ".example." in name:
            running.services.remove(name)


def delete(space: Space) -> None:
    assert space.client.delete(f"/api/v1/namespaces/{space.name}").status == 200


def await_deletion(space: Space) -> None:
    path = f"/api/v1/namespaces/{space.name}"
    eventually(lambda: space.client.get(path).status == 404, "the namespace goes")


def condition(space: Space, kind: str) -> Object:
    document = space.client.get(f"/api/v1/namespaces/{space.name}").body
    listed = document["status"].get("conditions") or ()
    return next((item for item in listed if item["type"] == kind), {})


def await_condition(space: Space, kind: str, message: str) -> None:
    eventually(lambda: condition(space, kind).get("message") == message, message)


def test_content_elsewhere_is_deleted_with_its_namespace(shelved: Shelved) -> None:
    shelved.becomes(shelved.register(), "True")
    space = shelved.space()
    shelved.shelf.put(space.name, "a")
    shelved.shelf.put("default", "stays")
    delete(space)
    await_deletion(space)
    assert shelved.shelf.content[space.name] == []
    assert shelved.shelf.content["default"]
    answer = shelved.shelf.calls("DELETE")[-1]
    system = shelved.server.dialect.system_namespace
    assert answer.headers["X-Remote-User"] == f"system:serviceaccount:{system}:namespace-controller"
    assert json.loads(answer.body)["propagationPolicy"] == "Background"


def test_content_is_deleted_one_by_one_where_there_is_no_other_way(shelved: Shelved) -> None:
    shelved.shelf.verbs = ("delete", "list")
    shelved.becomes(shelved.register(), "True")
    space = shelved.space()
    for name in "ab":
        shelved.shelf.put(space.name, name)
    delete(space)
    await_deletion(space)
    assert shelved.shelf.content[space.name] == []


def test_content_that_stays_elsewhere_holds_the_namespace(shelved: Shelved) -> None:
    name = shelved.register()
    shelved.becomes(name, "True")
    space = shelved.space()
    shelved.shelf.put(space.name, "a", "example.com/hold")
    delete(space)
    group = name.partition(".")[2]
    await_condition(
        space,
        "NamespaceContentRemaining",
        f"Some resources are remaining: books.{group} has 1 resource instances",
    )
    await_condition(
        space,
        "NamespaceFinalizersRemaining",
        "Some content in the namespace has finalizers remaining:"
        " example.com/hold in 1 resource instances",
    )
    shelved.shelf.content.clear()
    await_deletion(space)


def test_a_server_that_cannot_be_asked_holds_the_namespace(shelved: Shelved) -> None:
    shelved.shelf.reply = Reply(500)
    name = shelved.register()
    shelved.becomes(name, "False")
    space = shelved.space()
    space.config_maps.create("a")
    shelved.shelf.put(space.name, "a")
    delete(space)
    group = name.partition(".")[2]
    await_condition(
        space,
        DISCOVERY,
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of"
        f" server APIs: {group}/v1: the server is currently unable to handle the request",
    )
    assert condition(space, DISCOVERY)["status"] == "True"
    assert condition(space, DISCOVERY)["reason"] == "DiscoveryFailed"
    eventually(lambda: space.config_maps.names() == [], "what is here goes all the same")
    shelved.shelf.reply = None
    await_deletion(space)
    assert shelved.shelf.content[space.name] == []


def test_a_registration_that_goes_holds_nothing(shelved: Shelved) -> None:
    name = shelved.register("absent")
    shelved.becomes(name, "False")
    space = shelved.space()
    delete(space)
    eventually(lambda: condition(space, DISCOVERY).get("status") == "True", "it is held")
    shelved.services.remove(name)
    await_deletion(space)


def test_a_refusal_of_the_server_is_told(shelved: Shelved) -> None:
    name = shelved.register()
    shelved.becomes(name, "True")
    space = shelved.space()
    shelved.shelf.put(space.name, "a")
    message = "books may not be thrown away"
    refusal = {"kind": "Status", "status": "Failure", "message": message, "code": 403}
    shelved.shelf.refuses = Reply(
        403, {"Content-Type": "application/json"}, json.dumps(refusal).encode()
    )
    delete(space)
    await_condition(
        space,
        CONTENT,
        f"Failed to delete all resource types, 1 remaining: {message}",
    )
    shelved.shelf.refuses = None
    await_deletion(space)


UNAVAILABLE = "the server is currently unable to handle the request"
UNREADABLE = {
    "text": (b"no json", "the answer is not JSON"),
    "cut off": (b'{"resources": [', "the answer is not JSON"),
    "not UTF-8": (b'{"kind": "\xff"}', "the answer is not JSON"),
    "too deep": (b'{"a":' * 2000 + b"1" + b"}" * 2000, "the answer is not JSON"),
    "a list": (b"[]", "the answer is not an object"),
    "too many values": (b'{"items": [' + b"[]," * MAX_VALUES + b"[]]}", "the answer is too large"),
    "too long": (b" " * MAX_RESPONSE_BYTES + b"{}", UNAVAILABLE),
}
unreadable = pytest.mark.parametrize(("document", "why"), UNREADABLE.values(), ids=UNREADABLE)


@unreadable
def test_a_list_of_resources_that_cannot_be_read_holds_the_namespace(
    shelved: Shelved, document: bytes, why: str
) -> None:
    shelved.becomes(shelved.register(), "True")
    shelved.shelf.reply = Reply(200, {"Content-Type": "application/json"}, document)
    space = shelved.space()
    delete(space)
    eventually(lambda: why in condition(space, DISCOVERY).get("message", ""), "it is held")
    assert condition(space, DISCOVERY)["status"] == "True"
    shelved.shelf.reply = None
    await_deletion(space)


@unreadable
def test_a_list_of_content_that_cannot_be_read_holds_the_namespace(
    shelved: Shelved, document: bytes, why: str
) -> None:
    shelved.becomes(shelved.register(), "True")
    shelved.shelf.lists = Reply(200, {"Content-Type": "application/json"}, document)
    space = shelved.space()
    shelved.shelf.put(space.name, "a")
    delete(space)
    eventually(lambda: why in condition(space, CONTENT).get("message", ""), "it is held")
    assert shelved.shelf.content[space.name]
    shelved.shelf.lists = None
    await_deletion(space)
    assert shelved.shelf.content[space.name] == []


def test_an_error_with_too_many_values_is_not_parsed(shelved: Shelved) -> None:
    shelved.becomes(shelved.register(), "True")
    status = {"kind": "Status", "message": "the shelf is full", "details": [[]] * MAX_VALUES}
    shelved.shelf.reply = Reply(
        500, {"Content-Type": "application/json"}, json.dumps(status).encode()
    )
    space = shelved.space()
    delete(space)
    why = 'an error on the server ("unknown") has prevented the request from succeeding'
    eventually(lambda: why in condition(space, DISCOVERY).get("message", ""), "it is held")
    shelved.shelf.reply = None
    await_deletion(space)


@pytest.mark.parametrize(
    "document",
    [
        b'{"resources": {"name": 1}}',
        b'{"resources": [1, {"name": ["a"], "namespaced": true, "verbs": [{}, "delete"]}]}',
        b'{"resources": [{"name": "..", "namespaced": true, "verbs": ["delete", "list"]}]}',
    ],
)
def test_strange_entries_of_a_list_of_resources_are_left_out(
    shelved: Shelved, document: bytes
) -> None:
    shelved.becomes(shelved.register(), "True")
    shelved.shelf.reply = Reply(200, {"Content-Type": "application/json"}, document)
    space = shelved.space()
    delete(space)
    await_deletion(space)
    assert "Traceback" not in shelved.server.log.read_text()


def test_dependents_of_owners_elsewhere_are_not_garbage(shelved: Shelved) -> None:
    group = shelved.register().partition(".")[2]
    space = shelved.space()
    owner = {"apiVersion": f"{group}/v1", "kind": "Book", "name": "a", "uid": "no-such-uid"}
    space.config_maps.create("kept", metadata={"ownerReferences": [owner]})
    absent = {"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": "no-such-uid"}
    space.config_maps.create("garbage", metadata={"ownerReferences": [absent]})
    eventually(lambda: space.config_maps.get("garbage").status == 404, "garbage goes")
    assert space.config_maps.get("kept").status == 200


def test_owners_of_a_definition_that_another_server_takes_over_are_not_taken_for_gone(
    shelved: Shelved,
) -> None:
    space = shelved.space()
    gadgets = Gadgets(space)
    service = gadgets.service()
    eventually(lambda: shelved.services.get(service).status == 200, "it is registered")
    label = shelved.server.dialect.label("kube-aggregator.@/automanaged")
    taken = {
        "metadata": {"labels": {label: None}},
        "spec": {
            "service": {"namespace": "default", "name": "shelf"},
            "caBundle": shelved.shelf.bundle,
        },
    }
    assert shelved.services.patch(service, taken).status == 200
    owner = {"apiVersion": f"{gadgets.group}/v1", "kind": "Gadget", "name": "a", "uid": "no-such"}
    space.config_maps.create("kept", metadata={"ownerReferences": [owner]})
    absent = {"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": "no-such"}
    space.config_maps.create("garbage", metadata={"ownerReferences": [absent]})
    eventually(lambda: space.config_maps.get("garbage").status == 404, "garbage goes")
    assert space.config_maps.get("kept").status == 200

    shelved.services.remove(service)  # and a local one takes its place
    eventually(lambda: space.config_maps.get("kept").status == 404, "it is garbage after all")
    gadgets.definitions.remove(gadgets.name)
    eventually(lambda: shelved.services.get(service).status == 404, "nothing is registered")
