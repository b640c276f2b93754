"""The paths below /openapi: content, when it is built, and caching."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.openapi import Reply, ask, resources

from fairlead.api.openapi import OpenApi

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF_V3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"


class Served:
    """The service over all resources of a dialect."""

    def __init__(self) -> None:
        self.resources = resources()
        self.openapi = OpenApi(self.resources)

    def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        return asyncio.run(ask(self.openapi, self.resources, path, method, **headers))

    def address(self, name: str) -> str:
        url: str = self.get("/openapi/v3").json()["paths"][name]["serverRelativeURL"]
        return url


@pytest.fixture
def served() -> Served:
    return Served()


def test_the_index_lists_every_group_version(served: Served) -> None:
    reply = served.get("/openapi/v3")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    expected = {"api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "version"}
    assert expected < set(reply.json()["paths"])
    assert served.address("apis/apps/v1").startswith("/openapi/v3/apis/apps/v1?hash=")


def test_every_listed_document_is_there(served: Served) -> None:
    for name, entry in served.get("/openapi/v3").json()["paths"].items():
        reply = served.get(entry["serverRelativeURL"], accept="application/json")
        assert reply.status == 200, name
        assert reply.json()["openapi"] == "3.0.0", name


def test_a_document_under_its_hash_can_be_kept(served: Served) -> None:
    reply = served.get(served.address("api/v1"))
    assert reply.headers["cache-control"] == "public, immutable"
    assert "expires" in reply.headers
    assert reply.headers["etag"].strip('"') in served.address("api/v1")


def test_a_document_without_a_hash_is_asked_for_again(served: Served) -> None:
    reply = served.get("/openapi/v3/api/v1")
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-cache, private")


def test_an_old_hash_leads_to_the_new_one(served: Served) -> None:
    reply = served.get("/openapi/v3/api/v1?hash=OLD")
    assert (reply.status, reply.headers["location"]) == (301, served.address("api/v1"))


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1"])
def test_what_the_client_has_is_not_sent_again(served: Served, path: str) -> None:
    tag = served.get(path).headers["etag"]
    again = served.get(path, if_none_match=f'"other", W/{tag}')
    assert (again.status, again.body) == (304, b"")
    assert "content-length" not in again.headers
    assert served.get(path, if_none_match='"other"').status == 200


def test_the_old_version_is_one_document(served: Served) -> None:
    reply = served.get("/openapi/v2", accept="application/json")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    value = reply.json()
    assert (value["swagger"], value["info"]["title"]) == ("2.0", "Kubernetes")
    assert {"/api/v1/nodes", "/apis/apps/v1/deployments"} < set(value["paths"])


@pytest.mark.parametrize(
    ("accept", "status", "media_type"),
    [
        (PROTOBUF, 200, "application/octet-stream"),
        (f"{PROTOBUF};q=0.5,application/json", 200, "text/plain; charset=utf-8"),
        ("application/*", 200, "text/plain; charset=utf-8"),
        ("*/*", 200, "text/plain; charset=utf-8"),
        ("text/html", 406, None),
    ],
)
def test_the_old_version_has_two_forms(
    served: Served, accept: str, status: int, media_type: str | None
) -> None:
    reply = served.get("/openapi/v2", accept=accept)
    assert (reply.status, reply.headers.get("content-type")) == (status, media_type)
    assert reply.body if status == 200 else not reply.body


@pytest.mark.parametrize(
    ("accept", "status", "media_type"),
    [
        (PROTOBUF_V3, 200, "application/octet-stream"),
        (f"{PROTOBUF_V3};q=0.5,application/json", 200, "text/plain; charset=utf-8"),
        ("*/*", 200, "text/plain; charset=utf-8"),
        (PROTOBUF, 406, None),
        ("text/html", 406, None),
    ],
)
def test_the_new_version_has_two_forms(
    served: Served, accept: str, status: int, media_type: str | None
) -> None:
    reply = served.get("/openapi/v3/apis/apps/v1", accept=accept)
    assert (reply.status, reply.headers.get("content-type")) == (status, media_type)
    assert reply.body if status == 200 else not reply.body


def test_the_two_forms_are_kept_apart(served: Served) -> None:
    for accept, start in (
        (PROTOBUF_V3, b"\n\x053.0.0"),
        ("application/json", b"{"),
        (PROTOBUF_V3, b"\n"),
    ):
        reply = served.get("/openapi/v3/apis/batch/v1", accept=accept)
        assert reply.body.startswith(start)


def test_a_group_version_that_is_not_served_is_an_empty_404(served: Served) -> None:
    reply = served.get("/openapi/v3/apis/none/v1")
    assert (reply.status, reply.body, reply.headers.get("content-type")) == (404, b"", None)


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v1", "/openapi/v2/x"])
def test_other_paths_lead_nowhere(served: Served, path: str) -> None:
    reply = served.get(path)
    assert (reply.status, reply.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3"])
def test_any_method_gets_a_document(served: Served, path: str) -> None:
    reply = served.get(path, "POST")
    assert (reply.status, reply.body) == (200, served.get(path).body)


def test_documents_are_sent_compressed_to_who_takes_it(served: Served) -> None:
    plain = served.get("/openapi/v2")
    packed = served.get("/openapi/v2", accept_encoding="gzip, deflate")
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(packed.body) == len(plain.body)
    assert packed.body == plain.body


def test_a_document_is_made_once_and_when_it_is_asked_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[str] = []
    builder = served.openapi._builder
    version = type(builder).version

    def counted(self: Any, result: Any) -> Any:
        created.append(result.api_version)
        return version(self, result)

    monkeypatch.setattr(type(builder), "version", counted)
    served.get("/openapi/v3")
    assert created == []
    for _ in range(2):
        served.get("/openapi/v3/apis/apps/v1")
    assert created == ["apps/v1"]


def test_what_changes_gets_another_hash_and_nothing_else_does(served: Served) -> None:
    before = {name: served.address(name) for name in ("apis/apps/v1", "api/v1")}
    swagger = served.get("/openapi/v2").headers["etag"]
    del served.resources.groups["apps"]["v1"].resources["deployments"]
    served.resources.touch()
    assert served.address("apis/apps/v1") != before["apis/apps/v1"]
    assert served.address("api/v1") == before["api/v1"]
    changed = served.get("/openapi/v2")
    assert changed.headers["etag"] != swagger
    assert "/apis/apps/v1/deployments" not in changed.json()["paths"]


def test_a_group_that_is_gone_has_no_document(served: Served) -> None:
    assert served.get("/openapi/v3/apis/batch/v1").status == 200
    del served.resources.groups["batch"]["v1"]
    served.resources.touch()
    assert served.get("/openapi/v3/apis/batch/v1").status == 404
    assert "apis/batch" not in served.get("/openapi/v3").json()["paths"]


def test_a_document_whose_resources_change_while_it_is_built_is_not_kept(served: Served) -> None:
    address = served.address("api/v1")

    async def change_meanwhile() -> Reply:
        asked = asyncio.create_task(ask(served.openapi, served.resources, address))
        await asyncio.sleep(0)  # now it builds
        assert not asked.done()
        del served.resources.groups[""]["v1"].resources["pods"]
        served.resources.touch()
        return await asked

    reply = asyncio.run(change_meanwhile())
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-cache, private")
    assert "pods" not in str(served.get(served.address("api/v1")).json()["paths"].keys())
