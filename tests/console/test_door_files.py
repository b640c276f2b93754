"""The files of the console over HTTP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.client import Answer, Client
from support.process import ServerProcess

import fairlead.console

STATIC = Path(fairlead.console.__file__).parent / "static"
FILES = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.is_file())
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def browser(any_server: ServerProcess) -> Client:
    """One who has not signed in."""
    return any_server.client(None)


def folder(browser: Client) -> str:
    """The folder that the first page names."""
    match = re.search(r"/console/[0-9a-f]{16}/", browser.get("/console/").text)
    assert match is not None
    return match[0]


def test_the_first_page_comes_before_anybody_has_signed_in(browser: Client) -> None:
    page = browser.get("/console/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.text.lower().startswith("<!doctype html>")


def test_without_the_slash_one_is_sent_there(browser: Client) -> None:
    answer = browser.get("/console")
    assert (answer.status, answer.headers["Location"]) == (308, "/console/")


def test_every_file_is_served_under_its_name_and_in_the_folder(browser: Client) -> None:
    kept_in = folder(browser)
    for name in FILES:
        plain, answer = browser.get(f"/console/{name}"), browser.get(f"{kept_in}{name}")
        assert plain.status == answer.status == 200
        assert plain.content == answer.content
        if not name.endswith((".html", ".js", ".css")):  # those are put together or made thinner
            assert plain.content == (STATIC / name).read_bytes()
        assert plain.headers["Content-Type"].startswith(KINDS[Path(name).suffix])


def test_what_the_first_page_names_is_in_the_folder(browser: Client) -> None:
    page = browser.get("/console/").text
    named = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert named
    for path in named:
        assert path.startswith(folder(browser))
        assert browser.get(path).status == 200


def test_the_folder_is_kept_for_good_and_the_page_is_asked_for_again(browser: Client) -> None:
    kept = browser.get(f"{folder(browser)}app.js").headers["Cache-Control"]
    assert kept == "public, max-age=31536000, immutable"
    assert browser.get("/console/").headers["Cache-Control"] == "no-cache"
    assert browser.get("/console/app.js").headers["Cache-Control"] == "no-cache"


def test_what_a_browser_has_is_not_sent_again(browser: Client) -> None:
    tag = browser.get("/console/").headers["ETag"]
    for known in (tag, f'"x", {tag}', "*", tag.removeprefix("W/")):
        again = browser.get("/console/", headers={"If-None-Match": known})
        assert (again.status, again.raw) == (304, b"")
        assert again.headers["ETag"] == tag
    assert browser.get("/console/", headers={"If-None-Match": 'W/"x"'}).status == 200


def test_files_are_compressed_for_those_who_can_read_that(browser: Client) -> None:
    plain, packed = browser.get("/console/app.js"), browser.get("/console/app.js", headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.raw) < len(plain.raw)
    assert packed.content == plain.content
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"


def test_the_head_of_a_file_can_be_had(browser: Client) -> None:
    head = browser.request("HEAD", "/console/app.js")
    assert (head.status, head.raw) == (200, b"")
    assert int(head.headers["Content-Length"]) == len(browser.get("/console/app.js").raw)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_files_can_only_be_read(browser: Client, method: str) -> None:
    answer = browser.request(method, "/console/app.js", b"x" * 10_000)
    assert answer.status == 405
    assert answer.body["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize(
    "path",
    [
        "/console/nothing.js",
        "/console/0123456789abcdef/app.js",
        "/console/../fairlead/__init__.py",
        "/console/%2e%2e/door.py",
        "/console/..%2fdoor.py",
        "/console/..\\\\door.py",
        "/console/%5c..%5cdoor.py",
        "/console//app.js",
        "/console/./app.js",
        "/console/app.js%00",
        "/console/app.js/",
        "/console/%ff",
        "/console//etc/passwd",
    ],
)
def test_nothing_else_is_there(browser: Client, path: str) -> None:
    answer = browser.get(path)
    assert answer.status == 404
    assert answer.body["kind"] == "Status"


def test_folders_are_not_listed(browser: Client) -> None:
    assert browser.get(folder(browser)).status == 404


def safety(answer: Answer) -> dict[str, str]:
    names = (
        "Content-Security-Policy",
        "Cross-Origin-Opener-Policy",
        "Cross-Origin-Resource-Policy",
        "Permissions-Policy",
        "Referrer-Policy",
        "X-Content-Type-Options",
        "X-Frame-Options",
    )
    return {name: answer.headers[name] for name in names}


def test_browsers_are_told_to_run_nothing_but_our_own_files(browser: Client) -> None:
    reported = safety(browser.get("/console/"))
    rules = dict(
        part.strip().partition(" ")[::2] for part in reported["Content-Security-Policy"].split(";")
    )
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "font-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
    }
    assert reported["Referrer-Policy"] == "no-referrer"
    assert reported["Cross-Origin-Opener-Policy"] == "same-origin"
    assert reported["Cross-Origin-Resource-Policy"] == "same-origin"
    assert reported["X-Content-Type-Options"] == "nosniff"
    assert reported["X-Frame-Options"] == "DENY"
    assert "camera=()" in reported["Permissions-Policy"]


def test_they_are_told_so_with_everything(browser: Client) -> None:
    reported = safety(browser.get("/console/"))
    for path in ("/console", "/console/app.js", "/console/about", f"{folder(browser)}style.css"):
        assert safety(browser.get(path)) == reported


def test_the_page_keeps_to_it(browser: Client) -> None:
    page = browser.get("/console/").text
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\s(?:on\w+|style)=", page)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)


@pytest.mark.both_dialects
def test_the_page_learns_what_kind_of_server_it_is(any_server: ServerProcess) -> None:
    document = any_server.client(None).get("/console/about").body
    assert document["dialect"] == any_server.dialect.name
    assert document["testing"] is False
    assert document["labelDomain"] == any_server.dialect.label_domain
    rbac = document["groups"]["rbac.authorization"]
    assert any_server.client().get(f"/apis/{rbac}/v1").status == 200


@pytest.mark.both_dialects
def test_every_group_that_it_is_told_of_is_called_so(any_server: ServerProcess) -> None:
    messages = set(any_server.client(None).get("/console/about").body["groups"].values())
    domain, client = any_server.dialect.group_domain, any_server.client()
    served = {group["name"] for group in client.get("/apis").body["groups"]}
    definitions = client.get(f"/apis/apiextensions.{domain}/v1/customresourcedefinitions").body
    # Other tests of the server may define resources in groups of the domain.
    served -= {definition["spec"]["group"] for definition in definitions["items"]}
    assert {name for name in served if name.endswith(f".{domain}")} <= messages


def test_requests_of_the_page_take_no_seat(server: ServerProcess) -> None:
    page = server.client(None).get("/console/")
    assert "X-Kubernetes-PF-FlowSchema-UID" not in page.headers
    assert "X-Kubernetes-PF-FlowSchema-UID" in server.client().get("/version").headers
