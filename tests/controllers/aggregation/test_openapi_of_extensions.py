"""The OpenAPI documents of a server that has extension servers behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.client import Answer
from support.descriptions import GADGET, GROUP, META, Value, gadgets
from support.kubectl import Kubectl, compared
from support.neighbour import ReceivedRequest, Reply
from support.process import ServerProcess
from support.scripted_extension import Extended, ScriptedExtension
from support.waiting import eventually

from fairlead.controllers.aggregation.openapi.download import MAX_DOCUMENT_BYTES
from fairlead.process.certificates.authority import ensure_pki

V2, V3 = "/openapi/v2", "/openapi/v3"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_numbers = count()


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extended]:
    extended = Extended(tmp_path_factory.mktemp("extended"), "kubernetes")
    yield extended
    extended.server.stop()


class Described:
    """An extension server with gadgets in a group of its own."""

    def __init__(self, extended: Extended) -> None:
        self.extended, self.client = extended, extended.client
        self.group = f"g{next(_numbers)}.example.com"
        self.name = f"v1.{self.group}"
        self.document = f"apis/{self.group}/v1"
        self.path = f"/apis/{self.group}/v1/gadgets"
        self.server = ScriptedExtension(extended.server.directory / "extensions")
        self._tag, self._swagger = "", Value()
        self.say_old(gadgets(self.group), ETag='"old-1"')
        self.say_new("first")

    def end(self) -> None:
        self.extended.api_services.delete(self.name)
        self.server.close()

    def say_old(self, value: Any, code: int = 200, **headers: Any) -> None:
        self.server.say(V2, value, code, **headers)

    def say_new(self, tag: str) -> None:
        """Have a document of version 3 of this hash."""
        address = f"{V3}/{self.document}?hash={tag}"
        self.server.say(V3, {"paths": {self.document: {"serverRelativeURL": address}}})
        self.server.say(f"{V3}/{self.document}", {"openapi": "3.0.0", "x": tag}, ETag=f'"{tag}"')

    def register(self, **spec: Any) -> None:
        self.extended.register(self.server.port, self.group, **spec)

    @property
    def address(self) -> str:
        """Where its document of version 3 is listed, if it is."""
        listed = self.client.get(V3).body["paths"].get(self.document, {})
        text: str = listed.get("serverRelativeURL", "")
        return text

    def swagger(self) -> Value:
        """The whole document of version 2, which is long."""
        answer = self.client.get(V2, headers={"If-None-Match": self._tag})
        if answer.status != 304:
            self._tag, self._swagger = answer.headers["ETag"], answer.body
        return self._swagger

    def is_merged(self) -> bool:
        return self.path in self.swagger()["paths"]

    def await_merged(self) -> None:
        eventually(self.is_merged, "the description is merged")

    def await_asked(self, path: str, times: int) -> None:
        eventually(lambda: len(self.server.calls(path)) >= times, f"{path} is asked for")

    def log(self) -> list[str]:
        lines = self.extended.server.log.read_text().splitlines()
        return [
            line
            for line in lines
            if "no OpenAPI document" in line and f'name="{self.name}"' in line
        ]

    def await_refusal(self, why: str) -> None:
        eventually(lambda: any(why in line for line in self.log()), f"it is refused: {why}")


@pytest.fixture
def described(extended: Extended) -> Iterator[Described]:
    described = Described(extended)
    yield described
    described.end()


def test_openapi_of_an_extension_server_becomes_part_of_ours(described: Described) -> None:
    before = described.client.get(V2)
    described.register()
    described.await_merged()
    after = described.client.get(V2)
    assert after.headers["ETag"] != before.headers["ETag"]
    assert set(before.body["paths"]) < set(after.body["paths"])
    assert set(before.body["definitions"]) < set(after.body["definitions"])
    assert {name for name in after.body["definitions"] if META in name} == {META, f"{META}_v2"}


def test_openapi_of_an_extension_server_is_in_version_2_too(described: Described) -> None:
    described.register()
    described.await_merged()
    described.client.get(V2)
    answer = described.client.get(V2, headers={"Accept": PROTOBUF})
    assert answer.status == 200
    assert described.path.encode() in answer.content


def test_openapi_v3_of_an_extension_server_is_listed_by_its_hash(described: Described) -> None:
    before = described.client.get(V3).headers["ETag"]
    described.register()
    eventually(lambda: described.address != "", "the document is listed")
    assert described.address == f"{V3}/{described.document}?hash=first"
    assert described.client.get(V3).headers["ETag"] != before


def listed(described: Described) -> str:
    described.register()
    eventually(lambda: described.address != "", "the document is listed")
    return described.address


def test_openapi_v3_of_an_extension_server_is_proxied_unchanged(described: Described) -> None:
    answer = described.client.get(listed(described))
    assert (answer.status, answer.body["x"]) == (200, "first")
    assert answer.headers["ETag"] == '"first"'
    again = described.client.get(described.address, headers={"If-None-Match": '"first"'})
    assert (again.status, again.raw) == (304, b"")


def test_openapi_request_tells_the_extension_server_the_user_and_no_secret(
    described: Described,
) -> None:
    forged = {"X-Remote-User": "mallory", "X-Remote-Group": "system:masters"}
    described.client.get(listed(described), headers=forged)
    [call] = described.server.calls(f"{V3}/{described.document}")
    assert call.headers.get_all("X-Remote-User") == ["admin"]
    assert call.headers["Authorization"] is None
    [own] = described.server.calls(V2)
    assert own.headers["X-Remote-User"] == "system:aggregator"


def test_openapi_v3_redirect_of_an_extension_server_leads_to_its_new_hash_only(
    described: Described,
) -> None:
    address = listed(described)
    where = f"{V3}/{described.document}"
    described.server.say(where, b"", 301, Location=f"{where}?hash=second")
    moved = described.client.get(address)
    assert (moved.status, moved.headers["Location"]) == (301, f"{where}?hash=second")
    described.server.say(where, b"", 301, Location="https://evil.example.com/")
    refused = described.client.get(address)
    assert (refused.status, refused.headers["Location"]) == (502, None)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://evil.example.com/?hash=abc", "?hash=abc"),
        ("/openapi/v3/api/v1", ""),
        ("?hash=%0d%0aSet-Cookie:x", ""),
    ],
)
def test_openapi_v3_listing_takes_only_the_hash_of_an_address(
    described: Described, address: str, expected: str
) -> None:
    paths = {described.document: {"serverRelativeURL": address}}
    paths |= {
        name: {"serverRelativeURL": "/evil"} for name in ("api/v1", "apis/apps/v1", "version")
    }
    described.server.say(V3, {"paths": paths})
    assert listed(described) == f"{V3}/{described.document}{expected}"
    everything = described.client.get(V3).body["paths"]
    assert everything["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_a_server_without_version_3_has_its_description_put_in_its_terms(
    described: Described,
) -> None:
    described.server.say(V3, b"", 404)
    answer = described.client.get(listed(described))
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "public, immutable")
    assert answer.body["openapi"] == "3.0.0"
    assert answer.body["components"]["schemas"][GADGET]["properties"]["size"]["default"] == 3
    assert answer.headers["ETag"].strip('"') in described.address
    moved = described.client.get(f"{V3}/{described.document}?hash=other")
    assert (moved.status, moved.headers["Location"]) == (301, described.address)


def test_a_server_without_version_2_has_only_the_other(described: Described) -> None:
    described.say_old(b"", 404)
    listed(described)
    assert not described.is_merged()
    assert not described.log()


def test_openapi_of_an_extension_server_goes_with_its_api_service(described: Described) -> None:
    described.register()
    described.await_merged()
    described.extended.api_services.remove(described.name)
    eventually(lambda: not described.is_merged(), "the description is gone")
    assert described.address == ""
    assert described.client.get(f"{V3}/{described.document}").status == 404


def test_openapi_of_an_extension_server_stays_while_it_is_unavailable(described: Described) -> None:
    address = listed(described)
    described.await_merged()
    described.server.say(f"/{described.document}", b"", 500)
    soon = {"spec": {"versionPriority": 99}}  # what changes is looked at
    assert described.extended.api_services.patch(described.name, soon).status == 200
    eventually(lambda: not described.extended.is_available(described.name), "it is unavailable")
    assert described.is_merged()
    assert described.address == address
    refused = described.client.get(address)
    assert (refused.status, refused.text) == (503, "service unavailable\n")


def test_openapi_of_an_extension_server_is_polled_every_minute(described: Described) -> None:
    described.register()
    described.await_merged()
    described.extended.server.advance(61)
    described.await_asked(V2, 2)
    assert described.server.calls(V2)[1].headers["If-None-Match"] == '"old-1"'
    assert described.is_merged()


def test_openapi_of_an_extension_server_is_replaced_by_a_newer_one(described: Described) -> None:
    described.register()
    described.await_merged()
    described.say_new("second")
    described.say_old(gadgets(described.group, color={"type": "string"}), ETag='"old-2"')
    described.extended.server.advance(61)

    def has_color() -> bool:
        definitions = described.swagger()["definitions"]
        return any(
            "color" in definition.get("properties", {}) for definition in definitions.values()
        )

    eventually(has_color, "what is new is taken")
    assert described.address.endswith("?hash=second")


@pytest.mark.parametrize(
    ("value", "headers", "why"),
    [
        (b"<html>", {}, "it is not JSON"),
        (b"[" * 100_000, {}, "nested deeper"),
        (b" " * (MAX_DOCUMENT_BYTES + 1), {}, f"longer than {MAX_DOCUMENT_BYTES} bytes"),
        (b"{}", {"Content-Encoding": "br"}, "an encoding that was not asked for"),
        ({"swagger": "2.0", "paths": 5}, {}, "paths is not an object"),
    ],
)
def test_a_document_that_cannot_be_used_is_refused_with_a_word(
    described: Described, value: Any, headers: dict[str, Any], why: str
) -> None:
    before = described.client.get(V2)
    described.say_old(value, **headers)
    described.register()
    described.await_refusal(why)
    assert described.client.get(V2).headers["ETag"] == before.headers["ETag"]
    assert described.address != ""


def test_openapi_document_that_was_refused_is_asked_for_again(described: Described) -> None:
    described.say_old(b"", 500)
    described.register()
    described.await_refusal("/openapi/v2 was answered with 500")
    described.say_old(gadgets(described.group))
    described.extended.server.advance(6)
    described.await_merged()


def test_openapi_refusal_is_logged_once(described: Described) -> None:
    described.say_old(b"", 500)
    described.register()

    def asked_again() -> bool:
        described.extended.server.advance(60)
        return len(described.server.calls(V2)) >= 4

    eventually(asked_again, "it is asked again and again")
    assert len([line for line in described.log() if "500" in line]) == 1


def test_openapi_document_before_a_refused_one_stays(described: Described) -> None:
    described.register()
    described.await_merged()
    described.say_old(b"<html>")
    described.extended.server.advance(61)
    described.await_refusal("it is not JSON")
    assert described.is_merged()


def test_openapi_request_does_not_wait_for_an_extension_server_that_hangs(
    described: Described,
) -> None:
    end = threading.Event()

    def never(request: ReceivedRequest) -> Reply:
        end.wait(60)
        return Reply()

    described.server.replies[V2] = described.server.replies[V3] = never
    described.register()
    described.await_asked(V3, 1)
    assert described.client.get(V2).status == 200
    assert described.client.get(V3).status == 200
    end.set()


def test_of_two_different_definitions_the_one_that_matters_more_keeps_the_name(
    extended: Extended,
) -> None:
    first, second = Described(extended), Described(extended)
    for item, mark in ((first, "first"), (second, "second")):
        document = json.dumps(gadgets(item.group, **{mark: {"type": "string"}}))
        item.say_old(document.replace(GADGET, "com.example.Shared").encode())
    first.register(groupPriorityMinimum=1500)
    second.register(groupPriorityMinimum=1501)
    first.await_merged()
    second.await_merged()

    def owner() -> set[str]:
        return set(first.swagger()["definitions"]["com.example.Shared"]["properties"])

    assert "second" in owner()
    extended.api_services.patch(second.name, {"spec": {"groupPriorityMinimum": 1499}})
    eventually(lambda: "first" in owner(), "the order has changed")
    for item in (first, second):
        item.end()


class Behind:
    """A server with a custom kind, behind another one that knows nothing of it."""

    def __init__(self, directory: Path) -> None:
        front = ensure_pki(directory / "front", ["127.0.0.1"])
        (directory / "first").mkdir()
        (directory / "second").mkdir()
        self.second = ServerProcess(
            directory / "second",
            flags=(
                *("--requestheader-client-ca-file", str(front.proxy_ca.certificate)),
                *("--requestheader-username-headers", "X-Remote-User"),
                *("--requestheader-group-headers", "X-Remote-Group"),
            ),
        ).start()
        proof = front.proxy_client
        self.extended = Extended(
            directory / "first",
            "kubernetes",
            *("--proxy-client-cert-file", str(proof.certificate)),
            *("--proxy-client-key-file", str(proof.key)),
        )
        self.kubectl = Kubectl(self.extended.server, "default", directory)
        size = {"type": "integer", "description": "How large it is."}
        spec = {"type": "object", "required": ["size"], "properties": {"size": size}}
        definition = definition_of(GROUP, "Gadget", {"spec": spec})
        group = self.second.dialect.group_name("apiextensions.@")
        path = f"/apis/{group}/v1/customresourcedefinitions"
        assert self.second.client().post(path, definition).status == 201
        self.extended.register(urlsplit(self.second.address).port or 0, GROUP)
        eventually(self._is_listed, "the description has come")

    def _is_listed(self) -> bool:
        client = self.extended.client
        return (
            f"apis/{GROUP}/v1" in client.get(V3).body["paths"]
            and f"/apis/{GROUP}/v1/gadgets" in client.get(V2).body["paths"]
        )

    def stop(self) -> None:
        self.extended.server.stop()
        self.second.stop()


def definition_of(group: str, kind: str, properties: Value) -> Value:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    behind = Behind(tmp_path_factory.mktemp("behind"))
    yield behind
    behind.stop()


@compared
@pytest.mark.parametrize("output", ["plaintext", "plaintext-openapiv2"])
def test_kubectl_explains_a_kind_of_another_server(behind: Behind, output: str) -> None:
    message = behind.kubectl("explain", "gadgets.spec", f"--output={output}")
    assert "How large it is." in message
    assert GROUP in message


@compared
def test_kubectl_applies_a_kind_of_another_server(behind: Behind) -> None:
    value = {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": "one"}}
    good = json.dumps({**value, "spec": {"size": 5}})
    assert "created" in behind.kubectl("apply", "-f", "-", text=good)
    assert "unchanged" in behind.kubectl("apply", "-f", "-", text=good)
    bad = json.dumps({**value, "spec": {"size": 5, "wrong": 1}})
    assert 'unknown field "spec.wrong"' in behind.kubectl.fails("apply", "-f", "-", text=bad)


def test_openapi_definition_that_both_servers_have_is_there_once(behind: Behind) -> None:
    definitions = behind.extended.client.get(V2).body["definitions"]
    assert not [name for name in definitions if "_v" in name]


def test_openapi_aggregation_has_its_post_start_hooks(extended: Extended) -> None:
    answer: Answer = extended.client.get("/readyz?verbose")
    assert "[+]poststarthook/apiservice-openapi-controller ok" in answer.text
    assert "[+]poststarthook/apiservice-openapiv3-controller ok" in answer.text
