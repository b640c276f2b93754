"""The console in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.process import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, ViewportSize

ROOT = Path(__file__).parents[2]
HOSTILE = "<img src=x onerror=alert(1)>"
PICTURES = ROOT / "build" / "console"  # for humans to look at
AXE = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
_PATIENCE = 30_000  # milliseconds; the machine may be busy
# Disables requests that a browser makes on its own.
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def browser() -> Iterator[Browser]:
    """Run a headless browser; skips the test if there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: the console is not tested in a browser")
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=_PATIENCE)
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(_QUIET))
        try:
            yield running
        finally:
            running.close()


class Visitor:
    """A user with a browser. `went_wrong` collects errors of the page: it must stay empty, unless a
    test expects otherwise."""

    def __init__(
        self, running: Browser, server: ServerProcess, viewport: ViewportSize = DESK
    ) -> None:
        self.server = server
        self._context = running.new_context(
            ignore_https_errors=True,
            viewport=viewport,
            reduced_motion="reduce",
            bypass_csp=False,
        )
        self._context.set_default_timeout(_PATIENCE)
        self.page: Page = self._context.new_page()
        self.went_wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.went_wrong.append(str(error)))
        self.page.on("console", self._on_message)
        self.page.on("dialog", self._on_dialog)

    def _on_message(self, message: Any) -> None:
        # The page itself reports refused requests.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.went_wrong.append(message.text)

    def _on_dialog(self, dialog: Any) -> None:
        self.went_wrong.append(f"a dialog of the browser: {dialog.message}")
        dialog.dismiss()

    def open(
        self, route: str = "#/overview", token: str | None = None, namespace: str = ""
    ) -> Page:
        """Open the console at a route, signed in if there is a token."""
        self.page.goto(f"{self.server.address}/console/")
        self.page.evaluate("it => sessionStorage.setItem('fairlead.namespace', it)", namespace)
        if token is not None:
            self.page.get_by_label("Token").fill(token)
            self.page.get_by_role("button", name="Sign in").click()
            self.page.get_by_role("navigation", name="Views").wait_for()
        self.go(route)
        return self.page

    def begin(self, route: str, token: str | None, namespace: str = "") -> None:
        """Load the console at a route with nothing kept from before, signed in if there is a
        token."""
        if not self.page.url.startswith(f"{self.server.address}/console/"):
            self.page.goto(f"{self.server.address}/console/")
        self.page.evaluate(
            """([route, namespace, token]) => {
                localStorage.clear();
                sessionStorage.clear();
                sessionStorage.setItem("fairlead.namespace", namespace);
                if (token !== null) sessionStorage.setItem("fairlead.token", token);
                history.replaceState(null, "", route);
            }""",
            [route, namespace, token],
        )
        self.page.reload()
        if token is not None:
            self.page.get_by_role("navigation", name="Views").wait_for()

    def leave(self) -> None:
        """End the requests of the view, and what the test did to requests."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.go("#/nowhere")

    def go(self, route: str) -> None:
        self.page.evaluate("route => { location.hash = route }", route)

    def come_back(self, route: str, namespace: str) -> None:
        """Navigate to a route again, even to the current one, without reloading the console."""
        self.page.evaluate(
            """([route, namespace]) => {
                sessionStorage.setItem("fairlead.namespace", namespace);
                location.hash = route;
                dispatchEvent(new HashChangeEvent("hashchange"));
            }""",
            [route, namespace],
        )

    @contextmanager
    def requested(self) -> Iterator[list[str]]:
        """Collect the addresses of the requests that the page makes meanwhile."""
        urls: list[str] = []

        def note(request: Request) -> None:
            urls.append(request.url)

        self.page.on("request", note)
        yield urls
        self.page.remove_listener("request", note)

    def picture(self, name: str) -> None:
        """Save a screenshot."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def findings(self) -> list[str]:
        """Return the findings of axe-core."""
        if not AXE.exists():
            pytest.skip("there is no axe-core (make console-tools): accessibility is not checked")
        # Evaluated through DevTools, which the page's policy does not restrict.
        self.page.evaluate(AXE.read_text())
        result = self.page.evaluate("() => axe.run().then(result => result.violations)")
        return [
            f"{item['id']}: {item['help']}: {[node['html'][:200] for node in item['nodes'][:5]]}"
            for item in result
        ]

    def close(self) -> None:
        self._context.close()


class Tabs:
    """Visitors that later tests use again, because loading the console again in the same tab takes
    a fifth of the time of loading it in a new one."""

    def __init__(self, running: Browser) -> None:
        self._running = running
        self._idle: list[Visitor] = []

    def take(self, server: ServerProcess, viewport: ViewportSize = DESK) -> Visitor:
        """Return a visitor of a server who is not used; `begin` removes what it did before."""
        for visitor in self._idle:
            if visitor.server is server:
                self._idle.remove(visitor)
                visitor.page.set_viewport_size(viewport)
                return visitor
        return Visitor(self._running, server, viewport)

    def give_back(self, visitors: Iterable[Visitor]) -> None:
        """Keep visitors for later tests; fails if their pages had errors."""
        kept = list(visitors)
        for visitor in kept:
            visitor.leave()
        assert [message for visitor in kept for message in visitor.went_wrong] == []
        self._idle += kept

    def close(self) -> None:
        for visitor in self._idle:
            visitor.close()
