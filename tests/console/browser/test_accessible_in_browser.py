"""Every kind of page, looked at by axe-core in light and dark, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from support.browser import DESK, PHONE, Visitor
from support.namespaces import Space
from support.simulation import Pods, behaviour, container

expect = pytest.importorskip("playwright.sync_api").expect

Visit = Callable[..., Visitor]


class View(NamedTuple):
    """A page, what is there when it is complete, and the keys that are pressed on it."""

    route: str
    complete: str
    keys: str = ""


OBJECT = "#/objects/core/configmaps/{namespace}/settings"
VIEWS = {
    "overview": View("#/overview", "section.card:not([hidden]) table"),
    "overview then": View("#/overview?at={version}", "text=This is how it was"),
    "map": View("#/map?as=map", ".map [data-id]"),
    "map as a list": View("#/map?as=list", "[role=gridcell]"),
    "kinds": View("#/kinds", "text=batch"),
    "list": View("#/kinds/core/pods", ".bad"),
    "empty list": View("#/kinds/apps/daemonsets", "text=There is no DaemonSet"),
    "picked rows": View("#/kinds/core/configmaps", "[role=gridcell]", "x"),
    "feed": View("#/feed", ".grid-row.group"),
    "time travel": View("#/travel", "text=changes after revision"),
    "who can": View("#/access", "table"),
    "why not": View("#/access/why?kind=pods&user=zoe&ask=yes", "text=No. zoe may not"),
    "what I may do": View("#/access/mine", "table"),
    "server": View("#/server", ".measured svg"),
    "apply": View("#/apply", ".editor"),
    "create": View("#/create/core/configmaps", ".editor"),
    "config map": View(OBJECT, ".card-data dd"),
    "config map then": View(OBJECT + "?at={version}", "text=This is how it was"),
    "yaml": View(OBJECT + "/yaml", ".document .line"),
    "editing": View(OBJECT + "/yaml", ".document .line", "e"),
    "ownership": View(OBJECT + "/owners", ".document .owned"),
    "history": View(OBJECT + "/history", ".versions button"),
    "related": View(OBJECT + "/related", ".picture"),
    "secret": View("#/objects/core/secrets/{namespace}/keys", ".card-data dd"),
    "pod": View("#/objects/core/pods/{namespace}/broken", ".card-why-it-is-not-well"),
    "deployment": View("#/objects/apps/deployments/{namespace}/web", ".card-revisions li"),
    "service": View("#/objects/core/services/{namespace}/lonely", ".card-why-it-is-not-well"),
    "node": View("#/objects/core/nodes/-/simulated-0", ".meter"),
    "what is not there": View("#/objects/core/pods/{namespace}/nobody", "text=Its history"),
    "no such view": View("#/nowhere", ".problem"),
    "keys": View("#/kinds/core/pods", "[role=gridcell]", "?"),
    "search": View("#/overview", "section.card:not([hidden])", "/"),
}


@pytest.fixture
def furnished(pods: Pods) -> Space:
    """A namespace with something of each: well, broken, missing, and held up."""
    space = pods.space
    space.config_maps.create("settings", data={"colour": "red"})
    space.config_maps.patch("settings", {"data": {"colour": "blue"}}, fieldManager="painter")
    space.secrets.create("keys", stringData={"password": "tide"})
    spec: Any = {"selector": {"app": "nobody"}, "ports": [{"port": 80}]}
    space.collection("services").create("lonely", spec=spec)
    pods.create("broken", annotations=behaviour(image_pull_failure="no such thing"))
    pods.create("well")
    pods.await_ready("well")
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container()]}}
    workload = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    space.collection("deployments", "apps").create("web", spec=workload)
    alice = space.client.clone("alice-token")
    assert alice.get("/api/v1/nodes").status == 403
    alice.close()
    return space


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing_on_any_page(
    visit: Visit, furnished: Space, viewport: Any, theme: Any
) -> None:
    visitor = visit(
        furnished.server,
        "#/kinds",
        namespace=furnished.name,
        viewport=viewport,
        in_new_tab=True,
    )
    visitor.page.emulate_media(color_scheme=theme)
    version = furnished.config_maps.read("settings")["metadata"]["resourceVersion"]
    found = {}
    for name, view in VIEWS.items():
        visitor.go("#/nowhere")
        visitor.go(view.route.format(namespace=furnished.name, version=version))
        visitor.page.locator("#main").locator(view.complete).first.wait_for()
        if view.keys:
            visitor.page.keyboard.press(view.keys)
        findings = visitor.findings()
        if findings:
            found[name] = findings
        visitor.page.keyboard.press("Escape")
    assert found == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_where_one_signs_in(visit: Visit, kubernetes: Space, theme: Any) -> None:
    visitor = visit(kubernetes.server, "", token=None, in_new_tab=True)
    visitor.page.emulate_media(color_scheme=theme)
    expect(visitor.page.get_by_label("Token")).to_be_visible()
    assert visitor.findings() == []
