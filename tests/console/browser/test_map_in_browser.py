"""The map of a namespace, of an application, and of what is connected with an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import HOSTILE, PHONE, Visitor
from support.client import Object
from support.namespaces import Space
from support.waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route, ViewportSize

Visit = Callable[..., Visitor]
APP = "app.kubernetes.io/name"
GATEWAYS = "gateway.networking.k8s.io"


def node(visitor: Visitor, kind: str, name: str) -> Locator:
    """The node of an object, by what is read out."""
    return visitor.page.locator(".map [data-id]").filter(
        has=visitor.page.locator("title", has_text=f"{kind} {name}")
    )


def place(found: Locator) -> tuple[float, float]:
    x, y = found.evaluate(
        "one => [one.transform.baseVal[0].matrix.e, one.transform.baseVal[0].matrix.f]"
    )
    return x, y


def focused(visitor: Visitor) -> str:
    text: str = visitor.page.evaluate("() => document.activeElement.textContent")
    return text


def pod(space: Space, name: str, *, app: str, owner: Object | None = None, **spec: Any) -> Object:
    owners = []
    if owner:
        metadata = owner["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"]}
        owners = [{**reference, "uid": metadata["uid"]}]
    return space.collection("pods").create(
        name,
        metadata={"ownerReferences": owners},
        labels={"app": app, APP: app},
        spec={"containers": [{"name": "c", "image": "x"}], **spec},
    )


def mounting(*names: str) -> dict[str, Any]:
    return {"volumes": [{"name": name, "configMap": {"name": name}} for name in names]}


def service(space: Space, name: str) -> None:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    space.collection("services").create(name, spec=spec)


def route_to(space: Space, *services: str) -> None:
    paths = [
        {
            "path": "/",
            "pathType": "Prefix",
            "backend": {"service": {"name": one, "port": {"number": 80}}},
        }
        for one in services
    ]
    space.collection("ingresses", "networking.@").create(
        "gate", spec={"rules": [{"http": {"paths": paths}}]}
    )


@pytest.fixture
def two_applications(space: Space) -> Space:
    """`web` and `other` behind one ingress; they share settings."""
    space.ready_for_pods()
    space.config_maps.create_all("settings", "loose")
    for app in ("web", "other"):
        pod(space, app, app=app, **mounting("settings", f"absent-{app}"))
        service(space, app)
    route_to(space, "web", "other")
    return space


@pytest.mark.both_dialects
def test_routes_selectors_and_mounts_of_a_namespace_are_on_its_map(
    visit: Visit, two_applications: Space
) -> None:
    space = two_applications
    visitor = visit(space.server, "#/map", namespace=space.name)
    columns = [
        place(node(visitor, kind, name))[0]
        for kind, name in (
            ("Ingress", "gate"),
            ("Service", "web"),
            ("Pod", "web"),
            ("ConfigMap", "settings"),
        )
    ]
    assert columns == sorted(set(columns)), "what refers to others is left of them"
    expect(node(visitor, "ConfigMap", "absent-web")).to_contain_text("missing")
    expect(node(visitor, "ConfigMap", "loose")).to_have_count(1)
    expect(node(visitor, "ConfigMap", "kube-root-ca.crt")).to_have_count(0)
    visitor.picture(f"map-{space.dialect.name}")
    assert visitor.findings() == []


def test_what_is_hovered_tells_what_it_is_joined_to(visit: Visit, two_applications: Space) -> None:
    visitor = visit(two_applications.server, "#/map", namespace=two_applications.name)
    node(visitor, "Service", "web").hover()
    near = visitor.page.locator(".map .node.near .name")
    assert sorted(near.all_text_contents()) == ["gate", "web", "web"]
    labels = visitor.page.locator(".map .labels text")
    assert sorted(labels.all_text_contents()) == ["routes to", "selects"]


def test_a_node_opens_its_object(visit: Visit, two_applications: Space) -> None:
    visitor = visit(two_applications.server, "#/map", namespace=two_applications.name)
    node(visitor, "Service", "web").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Service web")


def test_an_application_is_chosen_by_its_label(visit: Visit, two_applications: Space) -> None:
    """What it shares with others is on its map, and they are not."""
    visitor = visit(two_applications.server, "#/map", namespace=two_applications.name)
    visitor.page.get_by_label("Application").select_option("web")
    expect(node(visitor, "Pod", "other")).to_have_count(0)
    for kind, name in (("Ingress", "gate"), ("Service", "web"), ("ConfigMap", "settings")):
        expect(node(visitor, kind, name)).to_have_count(1)
    assert "app=web" in visitor.page.url


def test_everything_connected_with_an_object_is_a_side_of_it(
    visit: Visit, two_applications: Space
) -> None:
    space = two_applications
    visitor = visit(space.server, f"#/objects/core/configmaps/{space.name}/settings")
    visitor.page.get_by_role("link", name="Map", exact=True).last.click()
    for kind, name in (("Pod", "web"), ("Pod", "other"), ("Service", "other"), ("Ingress", "gate")):
        expect(node(visitor, kind, name)).to_have_count(1)
    expect(node(visitor, "ConfigMap", "loose")).to_have_count(0)


def test_arrow_keys_follow_lines_and_enter_opens(visit: Visit, two_applications: Space) -> None:
    visitor = visit(two_applications.server, "#/map?app=web", namespace=two_applications.name)
    node(visitor, "Ingress", "gate").focus()
    keyboard = visitor.page.keyboard
    keyboard.press("ArrowRight")
    said = "Service web, 0 of 1 ready; Ingress gate routes to it; selects Pod web"
    assert said in focused(visitor)
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    assert "ConfigMap" in focused(visitor)
    for _ in range(3):
        keyboard.press("ArrowUp")
    first = focused(visitor)
    keyboard.press("ArrowDown")
    assert focused(visitor) != first
    keyboard.press("ArrowLeft")
    keyboard.press("Enter")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Pod web")


def test_many_of_one_owner_are_a_strip_until_it_is_opened(visit: Visit, kubernetes: Space) -> None:
    kubernetes.ready_for_pods()
    owner = kubernetes.config_maps.create("owner")
    for number in range(6):
        pod(kubernetes, f"p{number}", app="many", owner=owner)
    service(kubernetes, "many")
    visitor = visit(kubernetes.server, "#/map", namespace=kubernetes.name)
    strip = visitor.page.get_by_role("button", name="6 pods")
    expect(strip).to_have_attribute("aria-expanded", "false")
    expect(node(visitor, "Pod", "p3")).to_have_count(0)
    strip.click()
    expect(node(visitor, "Pod", "p3")).to_have_count(1)
    expect(strip).to_have_attribute("aria-expanded", "true")
    visitor.page.keyboard.press("Enter")
    expect(node(visitor, "Pod", "p3")).to_have_count(0)


def test_search_marks_what_fits_and_has_it_in_the_middle(
    visit: Visit, two_applications: Space
) -> None:
    visitor = visit(two_applications.server, "#/map", namespace=two_applications.name)
    node(visitor, "Pod", "web").wait_for()
    visitor.page.keyboard.press("s")
    visitor.page.keyboard.type("pod web")
    expect(visitor.page.locator(".map .found")).to_have_count(1)
    expect(visitor.page.get_by_text("1 of 1", exact=True)).to_be_visible()
    frame = visitor.page.locator(".map").bounding_box()
    found = visitor.page.locator(".map .found rect").first.bounding_box()
    assert frame
    assert found
    assert abs(frame["x"] + frame["width"] / 2 - found["x"] - found["width"] / 2) < 3
    assert abs(frame["y"] + frame["height"] / 2 - found["y"] - found["height"] / 2) < 3
    visitor.page.keyboard.press("Escape")
    expect(visitor.page.locator(".map .found")).to_have_count(0)
    assert "Pod web" in focused(visitor)


def test_what_is_there_keeps_its_place_while_others_come_and_go(
    visit: Visit, two_applications: Space
) -> None:
    space = two_applications
    visitor = visit(space.server, "#/map", namespace=space.name)
    kept = [("Service", "web"), ("Pod", "other"), ("ConfigMap", "settings"), ("Ingress", "gate")]
    before = [place(node(visitor, *one)) for one in kept]
    space.config_maps.create("absent-web")
    expect(node(visitor, "ConfigMap", "absent-web")).not_to_contain_text("missing")
    pod(space, "third", app="web")
    expect(node(visitor, "Pod", "third")).to_have_count(1)
    space.collection("pods").delete("web", gracePeriodSeconds="0")
    expect(node(visitor, "Pod", "web")).to_have_count(0)
    assert [place(node(visitor, *one)) for one in kept] == before


def test_each_kind_is_listed_once(visit: Visit, two_applications: Space) -> None:
    space = two_applications
    visitor = visit(space.server, "#/nowhere", namespace=space.name)
    with visitor.requested() as requests:
        visitor.go("#/map")
        expect(node(visitor, "Pod", "web")).to_have_count(1)
        space.config_maps.create("new")  # the feed is followed when it is seen
        expect(node(visitor, "ConfigMap", "new")).to_have_count(1)
    lists = [url for url in requests if "limit=500" in url]
    assert any("/pods?" in url for url in lists)
    assert len(lists) == len(set(lists))


def test_what_changes_before_the_feed_begins_is_on_the_map(
    visit: Visit, two_applications: Space
) -> None:
    space = two_applications
    visitor = visit(space.server, "#/nowhere", namespace=space.name)
    held: list[Route] = []
    visitor.page.route("**/history?*limit=1*", lambda route: held.append(route))
    visitor.go("#/map")
    expect(node(visitor, "Pod", "web")).to_have_count(1)
    space.config_maps.create("late")
    for route in held:
        route.continue_()
    expect(node(visitor, "ConfigMap", "late")).to_have_count(1)


def test_nodes_that_are_too_small_to_read_get_their_texts_later(
    visit: Visit, kubernetes: Space
) -> None:
    names = [f"c{number}" for number in range(200)]
    kubernetes.config_maps.create_all(*names)
    low: ViewportSize = {"width": 720, "height": 500}
    visitor = visit(kubernetes.server, "#/map", namespace=kubernetes.name, viewport=low)
    expect(visitor.page.locator(".map.tiny")).to_have_count(1)
    expect(visitor.page.locator(".map .node .name")).to_have_count(len(names))
    assert sorted(visitor.page.locator(".map .node .name").all_text_contents()) == sorted(names)


def test_wheel_keys_and_dragging_move_the_map(visit: Visit, two_applications: Space) -> None:
    visitor = visit(two_applications.server, "#/map", namespace=two_applications.name)
    page = visitor.page
    box = node(visitor, "Pod", "web").locator("rect").first
    fitted = box.bounding_box()
    assert fitted
    frame = page.locator(".map").bounding_box()
    assert frame
    page.mouse.move(frame["x"] + 300, frame["y"] + 200)
    page.mouse.wheel(0, -400)
    eventually(
        lambda: (box.bounding_box() or fitted)["width"] > fitted["width"] * 1.5, "the map moved"
    )
    page.keyboard.press("0")
    eventually(lambda: box.bounding_box() == fitted, "the map moved")
    page.keyboard.press("-")
    eventually(
        lambda: (box.bounding_box() or fitted)["width"] < fitted["width"] * 0.9, "the map moved"
    )
    page.keyboard.press("0")
    page.mouse.move(fitted["x"] + 20, fitted["y"] + 10)
    page.mouse.down()
    page.mouse.move(fitted["x"] + 70, fitted["y"] + 40, steps=5)
    page.mouse.up()
    eventually(lambda: (box.bounding_box() or fitted)["x"] > fitted["x"] + 30, "the map moved")
    assert "#/map" in page.url, "a drag that begins on an object does not open it"


def test_phones_get_a_list_by_state_first(visit: Visit, two_applications: Space) -> None:
    space = two_applications
    visitor = visit(space.server, "#/map", namespace=space.name, viewport=PHONE)
    rows = visitor.page.get_by_role("grid", name="Objects of the map").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("✗ missing")
    expect(rows.nth(1)).to_contain_text("Pod other mounts it")
    visitor.page.get_by_label("Search the map").fill("gate")
    expect(rows).to_have_count(2)
    assert visitor.findings() == []
    visitor.page.get_by_label("Search the map").fill("")
    visitor.page.get_by_role("button", name="Map", exact=True).click()
    expect(node(visitor, "Ingress", "gate")).to_have_count(1)


def test_the_map_of_a_moment_of_the_past(visit: Visit, kubernetes: Space) -> None:
    kubernetes.config_maps.create("first")
    revision = kubernetes.config_maps.create("second")["metadata"]["resourceVersion"]
    kubernetes.config_maps.create("third")
    kubernetes.config_maps.remove("first")
    visitor = visit(kubernetes.server, f"#/map?at={revision}", namespace=kubernetes.name)
    expect(node(visitor, "ConfigMap", "first")).to_have_count(1)
    expect(node(visitor, "ConfigMap", "third")).to_have_count(0)
    visitor.page.get_by_role("link", name="Show it as it is now").click()
    expect(node(visitor, "ConfigMap", "third")).to_have_count(1)
    expect(node(visitor, "ConfigMap", "first")).to_have_count(0)


def test_routes_of_the_gateway_api_lead_to_services(visit: Visit, kubernetes: Space) -> None:
    for kind, plural in (("Gateway", "gateways"), ("HTTPRoute", "httproutes")):
        names = {
            "kind": kind,
            "listKind": f"{kind}List",
            "plural": plural,
            "singular": kind.lower(),
        }
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
        }
        annotations = {"api-approved.kubernetes.io": "unapproved, for a test"}
        spec = {"group": GATEWAYS, "names": names, "scope": "Namespaced", "versions": [version]}
        everywhere = kubernetes.everywhere("customresourcedefinitions", "apiextensions.@")
        everywhere.create(f"{plural}.{GATEWAYS}", metadata={"annotations": annotations}, spec=spec)
    service(kubernetes, "web")
    body: Object = {"apiVersion": f"{GATEWAYS}/v1", "kind": "Gateway"}
    _eventually_create(kubernetes, "gateways", {**body, "metadata": {"name": "gate"}, "spec": {}})
    spec = {
        "parentRefs": [{"name": "gate"}],
        "rules": [{"backendRefs": [{"name": "web", "port": 80}]}],
    }
    body = {**body, "kind": "HTTPRoute", "metadata": {"name": "route"}, "spec": spec}
    _eventually_create(kubernetes, "httproutes", body)
    visitor = visit(kubernetes.server, "#/map", namespace=kubernetes.name)
    node(visitor, "HTTPRoute", "route").focus()
    told = "HTTPRoute route; is attached to Gateway gate; routes to Service web"
    assert told in focused(visitor)


def _eventually_create(space: Space, plural: str, body: Object) -> None:
    path = f"/apis/{GATEWAYS}/v1/namespaces/{space.name}/{plural}"
    eventually(lambda: space.client.post(path, body).status == 201, "it is served")


def test_names_are_never_markup_and_what_may_not_be_seen_is_told(
    visit: Visit, kubernetes: Space
) -> None:
    group = "rbac.authorization.@"
    full = kubernetes.dialect.group_name(group)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    kubernetes.collection("roles", group).create("reader", rules=[rule])
    kubernetes.collection("rolebindings", group).create(
        "reader",
        roleRef={"apiGroup": full, "kind": "Role", "name": "reader"},
        subjects=[{"apiGroup": full, "kind": "User", "name": "alice"}],
    )
    reference = {"apiVersion": "example.com/v1", "kind": HOSTILE, "name": HOSTILE, "uid": "x"}
    kubernetes.config_maps.create("mine", metadata={"ownerReferences": [reference]})
    visitor = visit(kubernetes.server, "#/map", token="alice-token", namespace=kubernetes.name)
    expect(node(visitor, "ConfigMap", "mine")).to_have_count(1)
    expect(node(visitor, HOSTILE, HOSTILE)).to_have_count(1)
    expect(visitor.page.get_by_text("you may not list")).to_contain_text("secrets")
