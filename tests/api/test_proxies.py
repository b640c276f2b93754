"""Proxies to pods and services."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.namespaces import Space
from support.nearby import nearby, space_for_pods
from support.neighbour import Neighbour, ReceivedRequest, Reply, own_address
from support.process import ServerProcess
from support.running import run_pod
from support.webhook import Hooked, WebhookServer, patching


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    yield from nearby(tmp_path_factory)


@pytest.fixture
def space(near: ServerProcess) -> Iterator[Space]:
    yield from space_for_pods(near)


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    running = Neighbour()
    yield running
    running.close()


@pytest.fixture
def pod(space: Space, neighbour: Neighbour) -> str:
    """The path of a proxy to a pod."""
    run_pod(space, "p")
    return space.collection("pods").item(f"p:{neighbour.port}", "proxy")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_request_is_passed_on_and_answered(
    space: Space, neighbour: Neighbour, pod: str, method: str
) -> None:
    neighbour.answer = lambda item: Reply(
        418, {"Content-Type": "text/x-tea", "X-Own": "1"}, b"short and stout"
    )
    body = None if method == "GET" else b"\x00\xffraw"
    answer = space.client.request(
        method, f"{pod}/a%20b/c?x=1&x=%2F&bare", body, headers={"Accept": "text/html"}
    )
    assert (answer.status, answer.raw) == (418, b"short and stout")
    assert (answer.headers["Content-Type"], answer.headers["X-Own"]) == ("text/x-tea", "1")
    [requested] = neighbour.requests
    assert (requested.method, requested.path) == (method, "/a%20b/c?x=1&x=%2F&bare")
    assert requested.body == (body or b"")


def test_credentials_and_headers_of_the_connection_stay_here(
    space: Space, neighbour: Neighbour, pod: str
) -> None:
    headers = {
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "Impersonate-User": "admin",
        "Impersonate-Group": "system:masters",
        "X-Remote-User": "admin",
        "X-Own": "stays",
        "Cookie": "session=of-another-server-on-this-host",
    }
    assert space.client.get(f"{pod}/x", headers=headers).status == 200
    [request] = neighbour.requests
    sent = {name.lower() for name in request.headers}
    assert not sent & {
        "authorization",
        "x-hop",
        "cookie",
        "impersonate-user",
        "impersonate-group",
        "x-remote-user",
    }
    assert request.headers["X-Own"] == "stays"
    assert request.headers["X-Forwarded-For"] == "127.0.0.1"
    assert request.headers["X-Forwarded-Uri"].endswith("/proxy/x")


def test_an_answer_is_shown_in_a_sandbox_whatever_it_says_of_itself(
    space: Space, neighbour: Neighbour, pod: str
) -> None:
    own = "sandbox allow-scripts allow-same-origin"
    value = {"Content-Security-Policy": own, "X-Content-Type-Options": "sniff"}
    neighbour.answer = lambda item: Reply(headers=value)
    headers = space.client.get(f"{pod}/x").headers
    assert headers.get_all("Content-Security-Policy") == ["sandbox", own]
    assert headers.get_all("X-Content-Type-Options") == ["nosniff"]


@pytest.mark.parametrize(
    "name",
    [
        *("Set-Cookie", "Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security"),
        *("Alt-Svc", "NEL", "Report-To", "Reporting-Endpoints", "Accept-CH", "Critical-CH"),
        *("Origin-Agent-Cluster", "Public-Key-Pins", "Refresh", "WWW-Authenticate", "Set-Login"),
        *("Speculation-Rules", "Timing-Allow-Origin", "Access-Control-Allow-Private-Network"),
        *("Sec-Session-Registration", "Secure-Session-Registration", "Use-As-Dictionary"),
    ],
)
def test_headers_that_act_on_the_whole_origin_are_not_returned(
    space: Space, neighbour: Neighbour, pod: str, name: str
) -> None:
    neighbour.answer = lambda item: Reply(401, headers={name: "x", "X-Own": "1"})
    answer = space.client.get(f"{pod}/x")
    assert (answer.status, answer.headers[name], answer.headers["X-Own"]) == (401, None, "1")


@pytest.mark.parametrize(
    "header", [{"Service-Worker": "script"}, {"Sec-Fetch-Dest": "serviceworker"}]
)
def test_the_script_of_a_service_worker_is_refused(
    space: Space, neighbour: Neighbour, pod: str, header: dict[str, str]
) -> None:
    answer = space.client.get(f"{pod}/worker.js", headers=header)
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == "service workers of other servers are not passed on"
    assert neighbour.requests == []


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/login?to=1", "{proxy}/login?to=1"),
        ("next/", "{proxy}/a/next/"),
        ("../up", "{proxy}/up"),
        ("http://127.0.0.1:{port}/x", "{proxy}/x"),
        ("http://elsewhere.example/x", "http://elsewhere.example/x"),
    ],
)
def test_redirects_lead_through_the_proxy_and_are_not_followed(
    space: Space, neighbour: Neighbour, pod: str, location: str, expected: str
) -> None:
    text = location.format(port=neighbour.port)
    neighbour.answer = lambda item: Reply(302, {"Location": text})
    answer = space.client.get(f"{pod}/a/b")
    assert (answer.status, answer.headers["Location"]) == (302, expected.format(proxy=pod))
    assert len(neighbour.requests) == 1


@pytest.mark.parametrize(
    "location",
    [
        "https://{host}/console/",
        "https://x@{host}/console/",
        "https://127.0.0.1:0{server_port}/console/",
        "//{host}/api/v1/secrets",
        "https:/console/",
        "https:\\\\{host}\\console",
        "https://{host}\\console",
        "/%2e%2E/%2e./%2e%2e/console/",
        "http://127.0.0.1:{port}/../../x",
        "/..\\..\\..\\console/",
        "https://{host}{proxy}/../x",
        "/console/\xff",
    ],
)
def test_a_redirect_does_not_lead_from_the_proxy_to_other_paths_of_this_server(
    space: Space, neighbour: Neighbour, pod: str, location: str
) -> None:
    host = urlsplit(space.server.address).netloc
    server_port = host.partition(":")[2]
    text = location.format(host=host, port=neighbour.port, proxy=pod, server_port=server_port)
    neighbour.answer = lambda item: Reply(302, {"Location": text})
    answer = space.client.get(f"{pod}/a/b")
    assert (answer.status, answer.headers["Location"]) == (302, None)


def test_a_page_that_knows_its_address_can_redirect_below_it(
    space: Space, neighbour: Neighbour, pod: str
) -> None:
    neighbour.answer = lambda item: Reply(302, {"Location": f"{space.server.address}{pod}/login"})
    assert space.client.get(f"{pod}/a").headers["Location"] == f"{pod}/login"


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('<a href="/next?to=1">', '<a href="{proxy}/next?to=1">'),
        ("<img class=x src='/a.png'>", "<img class=x src='{proxy}/a.png'>"),
        ('<a href="next">', '<a href="next">'),
        ('<a href="http://elsewhere.example/x">', '<a href="http://elsewhere.example/x">'),
        ('href="/text"', 'href="/text"'),
    ],
)
def test_links_of_a_page_lead_through_the_proxy(
    space: Space, neighbour: Neighbour, pod: str, tag: str, expected: str
) -> None:
    neighbour.answer = lambda item: Reply(200, {"Content-Type": "text/html"}, tag.encode())
    assert space.client.get(f"{pod}/a").raw.decode() == expected.format(proxy=pod)


def test_links_of_what_is_no_page_stay(space: Space, neighbour: Neighbour, pod: str) -> None:
    neighbour.answer = lambda item: Reply(200, {"Content-Type": "text/plain"}, b'<a href="/x">')
    assert space.client.get(f"{pod}/a").raw == b'<a href="/x">'


def test_the_root_is_asked_for_with_a_slash(space: Space, neighbour: Neighbour, pod: str) -> None:
    answer = space.client.get(pod, x="1")
    assert (answer.status, answer.headers["Location"]) == (301, f"{pod}/?x=1")
    assert space.client.get(f"{pod}/").raw == b"hello"
    assert [request.path for request in neighbour.requests] == ["/"]


def test_steps_up_do_not_leave_the_root(space: Space, neighbour: Neighbour, pod: str) -> None:
    space.client.get(f"{pod}/a/../../../etc/passwd")
    assert neighbour.requests[0].path == "/etc/passwd"


def test_an_answer_comes_while_it_is_made(space: Space, neighbour: Neighbour, pod: str) -> None:
    more = threading.Event()
    neighbour.answer = lambda item: Reply(pieces=[(None, b"one"), (more, b"two")])
    connection = space.client.connect()
    connection.request("GET", f"{pod}/x", headers=space.client.head_of())
    response = connection.getresponse()
    assert response.read(3) == b"one"
    more.set()
    assert response.read() == b"two"
    connection.close()


def test_a_large_answer_is_passed_on_whole(space: Space, neighbour: Neighbour, pod: str) -> None:
    large = bytes(range(256)) * 40_000
    neighbour.answer = lambda item: Reply(body=large)
    assert space.client.get(f"{pod}/x").raw == large


def test_an_answer_that_is_cut_off_does_not_look_whole(
    space: Space, neighbour: Neighbour, pod: str
) -> None:
    neighbour.answer = lambda item: Reply(pieces=[(None, b"half")], cut_off=True)
    with pytest.raises((http.client.IncompleteRead, OSError, http.client.HTTPException)):
        space.client.get(f"{pod}/x")


def test_a_client_that_leaves_ends_the_conversation(
    space: Space, neighbour: Neighbour, pod: str
) -> None:
    def endless(request: ReceivedRequest) -> Reply:
        return Reply(pieces=[(None, b"x" * 1000)] * 1_000_000)

    neighbour.answer = endless
    connection = space.client.connect()
    connection.request("GET", f"{pod}/x", headers=space.client.head_of())
    assert connection.getresponse().read(1000)
    connection.close()
    assert neighbour.disconnected.wait(20)


@pytest.mark.parametrize("status", [101, 600, 999])
def test_a_status_that_is_no_answer_is_not_passed_on(
    space: Space, neighbour: Neighbour, pod: str, status: int
) -> None:
    neighbour.answer = lambda item: Reply(status, {"Upgrade": "x", "Connection": "Upgrade"})
    answer = space.client.get(f"{pod}/x")
    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")


def test_a_head_has_no_body(space: Space, neighbour: Neighbour, pod: str) -> None:
    answer = space.client.request("HEAD", f"{pod}/x")
    assert (answer.status, answer.headers["Content-Length"], answer.raw) == (200, "5", b"")
    assert neighbour.requests[0].method == "HEAD"


def test_options_are_passed_on(space: Space, neighbour: Neighbour, pod: str) -> None:
    assert space.client.request("OPTIONS", f"{pod}/x").status == 200
    assert neighbour.requests[0].method == "OPTIONS"


def test_nobody_there(space: Space, neighbour: Neighbour, pod: str) -> None:
    neighbour.close()
    answer = space.client.get(f"{pod}/x")
    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")
    assert answer.message == (
        f"error trying to reach service: dial tcp 127.0.0.1:{neighbour.port}: connect:"
        " connection refused"
    )


def test_a_body_of_any_size_is_passed_on(space: Space, neighbour: Neighbour, pod: str) -> None:
    large = b"x" * (3 * 1024 * 1024 + 1)
    assert space.client.post(f"{pod}/x", large).status == 200
    assert neighbour.requests[0].body == large


@pytest.fixture
def service(space: Space) -> Iterator[Neighbour]:
    """The server behind the service `s`, whose port 80 is named `web`."""
    address = own_address()  # endpoints may not hold loopback addresses
    if not address:
        pytest.skip("this machine has no address but loopback")
    running = Neighbour(address=address)
    run_pod(space, "p", ip=address)
    space.collection("services").create("s", spec={"ports": [{"name": "web", "port": 80}]})
    target = {"kind": "Pod", "namespace": space.name, "name": "p"}
    subset = {
        "addresses": [{"ip": address, "targetRef": target}],
        "ports": [{"name": "web", "port": running.port}],
    }
    space.collection("endpoints").create("s", subsets=[subset])
    yield running
    running.close()


@pytest.mark.parametrize("name", ["s:web", "s:80", "http:s:web"])
def test_a_service_leads_to_a_pod_behind_it(space: Space, service: Neighbour, name: str) -> None:
    services = space.collection("services")
    assert services.client.get(f"{services.item(name, 'proxy')}/x").raw == b"hello"
    assert service.requests[0].path == "/x"


def test_endpoints_that_are_not_a_pods_address_are_not_reached(
    space: Space, service: Neighbour
) -> None:
    space.client.delete(space.collection("pods").item("p"), {"gracePeriodSeconds": 0})
    services = space.collection("services")
    answer = services.client.get(f"{services.item('s:web', 'proxy')}/x")
    assert (answer.status, service.requests) == (503, [])


@pytest.fixture
def hooked(space: Space, tmp_path: Path) -> Iterator[Hooked]:
    server = WebhookServer(tmp_path)
    hooked = Hooked(space, server)
    yield hooked
    hooked.remove()
    server.close()


@pytest.mark.parametrize(
    ("requested", "given", "reached"),
    [
        ("/secret", "/public/a b", "/public/a%20b"),
        ("/secret/", "public", "/public/"),
        ("/", "/public", "/public/"),
    ],
)
def test_a_webhook_may_lead_a_request_to_another_path(
    hooked: Hooked, neighbour: Neighbour, pod: str, requested: str, given: str, reached: str
) -> None:
    change = patching({"op": "add", "path": "/path", "value": given})
    hooked.mutate(change, operations=["CONNECT"], resources=["pods/proxy"])
    answer = hooked.space.client.get(f"{pod}{requested}")
    assert answer.status == 200, answer.text
    assert [request.path for request in neighbour.requests] == [reached]
