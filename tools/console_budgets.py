"""Measures the console in a browser: the time until something useful is shown, and the longest task
while 100 objects a second change.

    python tools/console_budgets.py [--seconds 10] [--objects 500]

Exits with 1 if a budget is exceeded: 1 s until the first useful paint, 50 ms for a frame.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.browser import Visitor, browser
from support.client import ADMIN_TOKEN
from support.namespaces import Space
from support.process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

FIRST_PAINT = 1.0  # seconds until something useful is shown
LONGEST_TASK = 50.0  # milliseconds of CPU; a longer one delays a frame
CHANGES = 100  # changes a second
# What is useful on each view, as a selector.
VIEWS = {
    "#/overview": "section.card:not([hidden])",
    "#/kinds/core/configmaps": "[role=gridcell]",
    "#/feed": "[role=gridcell]",
    "#/travel": ".timeline",
    "#/objects/core/configmaps/{namespace}/c0": ".card-data dd",
    "#/objects/core/configmaps/{namespace}/c0/history": ".versions button",
}
MAP = ("#/map", ".node")
APPLICATIONS = 10  # on the map, each with pods, a service and settings
# When the first frame was painted in which an element of a selector could be seen.
PAINTED = """
useful => new Promise(done => {
    const look = () => {
        const found = document.querySelector(useful);
        const isSeen = found?.checkVisibility({visibilityProperty: true});
        const box = isSeen && found.getBoundingClientRect();
        const next = box && box.width && box.height ? () => done(performance.now()) : look;
        requestAnimationFrame(next);
    };
    look();
})
"""
CATEGORIES = ["toplevel", "devtools.timeline", "__metadata"]


class Changes:
    """Calls a function at an even rate in a thread, with the number of the call."""

    def __init__(self, change: Callable[[int], object]) -> None:
        self._change = change
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stopped.is_set():
            self._change(self.count)
            self.count += 1
            time.sleep(max(0.0, began + self.count / CHANGES - time.monotonic()))


def first_paint(visitor: Visitor, route: str, useful: str) -> float:
    """Seconds from the start of navigation until the useful part is there, with a warm cache.

    The page itself looks at each frame: Playwright looks for a selector less and less often, at
    last every half second."""
    visitor.page.goto("about:blank")
    visitor.page.goto(f"{visitor.server.address}/console/{route}", wait_until="commit")
    milliseconds: float = visitor.page.evaluate(PAINTED, useful)
    return milliseconds / 1000


def longest_task(
    running: Browser, visitor: Visitor, route: str, useful: str, seconds: float
) -> tuple[float, float]:
    """The longest task of the page's main thread after the view is complete, in milliseconds of CPU
    and by the clock, which also counts what other programs of the machine do."""
    visitor.go(route)
    visitor.page.wait_for_selector(useful)
    time.sleep(2)
    running.start_tracing(page=visitor.page, categories=CATEGORIES)
    time.sleep(seconds)
    events = json.loads(running.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        (event.get("tdur", 0) / 1000, event["dur"] / 1000)
        for event in events
        if event["name"].endswith("RunTask")
        and event.get("dur")
        and (event["pid"], event["tid"]) in threads
    ]
    return max(cpu for cpu, _ in tasks), max(wall for _, wall in tasks)


def settings(space: Space, objects: int) -> Callable[[int], object]:
    """Create ConfigMaps; returns a function that changes one."""
    for number in range(objects):
        space.config_maps.create(f"c{number}", data={"count": "0"})
    client, path = space.server.client(), space.config_maps.path

    def change(count: int) -> object:
        return client.patch(f"{path}/c{count % objects}", {"data": {"count": str(count)}})

    return change


def applications(space: Space, objects: int) -> Callable[[int], object]:
    """Create pods with services and settings; returns a function that changes the state of a pod,
    which is drawn on the map."""
    pods, services = space.collection("pods"), space.collection("services")
    for number in range(APPLICATIONS):
        labels = {"app.kubernetes.io/name": f"a{number}"}
        services.create(f"s{number}", spec={"selector": labels, "ports": [{"port": 80}]})
        space.config_maps.create(f"c{number}")
    count = objects - 2 * APPLICATIONS
    for number in range(count):
        own = number % APPLICATIONS
        used = {"envFrom": [{"configMapRef": {"name": f"c{own}"}}]}
        pods.create(
            f"p{number}",
            metadata={"labels": {"app.kubernetes.io/name": f"a{own}"}},
            spec={"containers": [{"name": "c", "image": "x", **used}]},
        )
    client, path = space.server.client(), pods.path

    def change(number: int) -> object:
        status = "True" if (number // count) % 2 else "False"
        conditions = [{"type": "Ready", "status": status}]
        body = {"status": {"phase": "Running", "conditions": conditions}}
        return client.patch(f"{path}/p{number % count}/status", body)

    return change


def measure(space: Space, mapped: Space, options: Any) -> bool:
    views = {route.format(namespace=space.name): useful for route, useful in VIEWS.items()}
    is_kept = True
    change = settings(space, options.objects)
    with browser() as running:
        visitor = Visitor(running, space.server, {"width": 1440, "height": 900})
        visitor.open("#/kinds", ADMIN_TOKEN, space.name)
        for route, useful in views.items():
            first_paint(visitor, route, useful)  # the scripts of the view are in the cache then
            took = first_paint(visitor, route, useful)
            is_kept &= took <= FIRST_PAINT
            print(f"{took:6.2f} s   first useful paint  {route}", flush=True)
        with Changes(change) as changes:
            is_kept &= tell_tasks(running, visitor, changes, views, options.seconds)
        visitor.close()
        visitor = Visitor(running, mapped.server, {"width": 1440, "height": 900})
        visitor.open("#/kinds", ADMIN_TOKEN, mapped.name)
        change = applications(mapped, options.objects)
        took = first_paint(visitor, *MAP)
        is_kept &= took <= FIRST_PAINT
        print(f"{took:6.2f} s   first useful paint  {MAP[0]}", flush=True)
        with Changes(change) as changes:
            is_kept &= tell_tasks(running, visitor, changes, dict([MAP]), options.seconds)
        visitor.close()
    return is_kept


def tell_tasks(
    running: Browser, visitor: Visitor, changes: Changes, views: dict[str, str], seconds: float
) -> bool:
    """Print the longest task of each view; returns whether all are short enough."""
    is_kept = True
    before, began = changes.count, time.monotonic()
    for route, useful in views.items():
        cpu, wall = longest_task(running, visitor, route, useful, seconds)
        is_kept &= cpu <= LONGEST_TASK
        print(f"{cpu:6.0f} ms  longest task ({wall:.0f} by the clock)  {route}", flush=True)
    rate = (changes.count - before) / (time.monotonic() - began)
    print(f"{rate:6.0f} changes a second")
    return is_kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--objects", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairlead-console-") as directory:
        server = ServerProcess(Path(directory), flags=("--release", "1.36")).start()
        try:
            listed, mapped = (Space(server, server.client()) for _ in range(2))
            return 0 if measure(listed, mapped, options) else 1
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
