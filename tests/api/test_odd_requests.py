"""Requests at the limits of HTTP, and numbers at the limits of their range."""

from __future__ import annotations

import json
from http.client import HTTPResponse

import pytest
from support.client import Object
from support.namespaces import Space


def send_raw(space: Space, text: str, body: bytes = b"") -> tuple[int, Object]:
    """Send a request as it stands, with our credentials."""
    connection = space.client.connect()
    connection.connect()
    head = "".join(f"{name}: {value}\r\n" for name, value in space.client.head_of().items())
    connection.sock.sendall(f"{text}\r\nHost: x\r\n{head}\r\n".encode() + body)
    response = HTTPResponse(connection.sock)
    response.begin()
    answer = response.read()
    connection.close()
    return response.status, json.loads(answer) if answer.startswith(b"{") else {}


def test_a_name_may_be_percent_encoded(space: Space) -> None:
    space.secrets.create("a.b")
    assert space.client.get(space.secrets.path + "/a%2Eb").status == 200


def test_names_with_colons_are_found_either_way(space: Space) -> None:
    roles = space.everywhere("clusterroles", "rbac.authorization.@")
    name = f"test:{space.name}"
    roles.create(name, rules=[])
    assert roles.get(name).status == 200
    assert space.client.get(f"{roles.path}/{name.replace(':', '%3A')}").status == 200


def test_an_encoded_slash_is_no_way_into_another_path(space: Space) -> None:
    space.secrets.create("a")
    answer = space.client.get(f"/api/v1/namespaces/other%2F..%2F{space.name}/secrets/a")
    assert answer.status == 404


def test_paths_do_not_climb(space: Space) -> None:
    space.secrets.create("a")
    assert space.client.get("/api/v1/../../metrics").status == 404
    answer = space.client.get("/api/v1/namespaces/../secrets")
    assert answer.status in (400, 404) or answer.names == []


def test_the_first_of_repeated_parameters_counts(space: Space) -> None:
    space.secrets.create_all("a", "b")
    assert len(space.secrets.list(limit=["1", "5"]).names) == 1


def test_a_query_may_be_encoded_either_way(space: Space) -> None:
    space.secrets.create("a", labels={"x": "1"})
    for query in ("labelSelector=x%20in%20(1)", "labelSelector=x+in+(1)", "labelSelector=x=1"):
        assert space.client.get(f"{space.secrets.path}?{query}").names == ["a"]


@pytest.mark.parametrize("query", ["%", "%zz", "a=%", "&&&", "=", "a=b=c", "labelSelector=%ff"])
def test_a_broken_query_is_answered(space: Space, query: str) -> None:
    status, _ = send_raw(space, f"GET {space.secrets.path}?{query} HTTP/1.1")
    assert status in (200, 400)


def test_a_body_in_chunks_is_a_body(space: Space) -> None:
    connection = space.client.connect()
    body = json.dumps({"metadata": {"name": "a"}}).encode()
    pieces = (body[i : i + 5] for i in range(0, len(body), 5))
    headers = {**space.client.head_of(), "Content-Type": "application/json"}
    connection.request("POST", space.secrets.path, pieces, headers, encode_chunked=True)
    assert connection.getresponse().status == 201
    connection.close()


def test_a_client_may_ask_before_it_sends(space: Space) -> None:
    body = json.dumps({"metadata": {"name": "a"}}).encode()
    connection = space.client.connect()
    connection.putrequest("POST", space.secrets.path)
    for name, value in space.client.head_of().items():
        connection.putheader(name, value)
    connection.putheader("Expect", "100-continue")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    assert b" 100 " in connection.sock.recv(100)
    connection.send(body)
    assert connection.getresponse().status == 201
    connection.close()


def test_requests_may_follow_each_other_without_waiting(space: Space) -> None:
    """Two pipelined requests are answered in order."""
    space.secrets.create("a")
    connection = space.client.connect()
    connection.connect()
    head = "".join(f"{name}: {value}\r\n" for name, value in space.client.head_of().items())
    text = f"GET {space.secrets.item('a')} HTTP/1.1\r\nHost: x\r\n{head}\r\n"
    two = f"GET {space.secrets.item('no')} HTTP/1.1\r\nHost: x\r\n{head}\r\n"
    connection.sock.sendall((text + two).encode())
    received = b""
    while received.count(b"HTTP/1.1 ") < 2 or not received.rstrip().endswith(b"}"):
        part = connection.sock.recv(65536)
        assert part
        received += part
    assert received.index(b"HTTP/1.1 200") < received.index(b"HTTP/1.1 404")
    connection.close()


def test_an_old_client_of_http_1_0_is_answered(space: Space) -> None:
    status, body = send_raw(space, f"GET {space.secrets.path} HTTP/1.0")
    assert (status, body["kind"]) == (200, "SecretList")


@pytest.mark.parametrize("limit", [2**31, 2**63 - 1])
def test_a_limit_may_be_as_large_as_a_number_can_be(space: Space, limit: int) -> None:
    space.secrets.create_all("a", "b")
    assert space.secrets.names(limit=limit) == ["a", "b"]


@pytest.mark.parametrize("limit", [2**63, 10**30, -(2**63) - 1])
def test_a_limit_that_is_no_number_of_64_bits_is_refused(space: Space, limit: int) -> None:
    answer = space.secrets.list(limit=limit)
    assert answer.status == 400
    assert answer.message == f'strconv.ParseInt: parsing "{limit}": value out of range'


@pytest.mark.parametrize("seconds", [2**31, 2**53, 2**63 - 1])
def test_a_watch_may_last_as_long_as_a_number_can_say(space: Space, seconds: int) -> None:
    with space.secrets.watch(timeoutSeconds=seconds, allowWatchBookmarks="true") as watch:
        space.secrets.create("a")
        assert watch.next().brief == ("ADDED", "a")


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_watch_of_no_time_lasts_as_long_as_any(space: Space, seconds: int) -> None:
    with space.secrets.watch(timeoutSeconds=seconds) as watch:
        space.secrets.create("a")
        assert watch.next().brief == ("ADDED", "a")


def test_the_largest_version_is_a_version(space: Space) -> None:
    with space.secrets.watch(resourceVersion=2**64 - 1, timeoutSeconds=1) as watch:
        assert (watch.status, watch.rest()) == (200, [])
    assert space.secrets.list(resourceVersion=2**64).status == 400


def test_text_of_any_script_is_kept(space: Space) -> None:
    data = {"k": "żółw \U0001f422 \u2028 \x7f \x00 \t", "l": "\ufeff"}
    config_map = space.config_maps.create("a", data=data)
    assert config_map["data"] == data
    assert space.config_maps.read("a")["data"] == data


def test_a_deletion_may_carry_a_body_without_a_type(space: Space) -> None:
    space.secrets.create("a")
    answer = space.client.delete(space.secrets.item("a"), b'{"dryRun": ["All"]}')
    assert answer.status == 200
    assert space.secrets.names() == ["a"]


def test_many_headers_and_long_ones_are_bounded(space: Space) -> None:
    answer = space.client.get(space.secrets.path, headers={"X-Long": "x" * 20_000})
    assert answer.status in (200, 400, 431)
    space.client.close()
    assert space.secrets.list().status == 200
