"""The pytest plugin: servers as fixtures, and their logs and requests in the report of a failed
test."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from fairlead.base.release import RELEASES
from fairlead.testing import cluster as clusters

if TYPE_CHECKING:
    from fairlead.testing.cluster import Cluster

ClusterFactory = Callable[..., "Cluster"]

_FLAGS, _DIALECT, _RELEASE = "fairlead_flags", "fairlead_dialect", "fairlead_release"
_MAX_REQUESTS = 20
_clusters = pytest.StashKey[list["Cluster"]]()
# Position in the log and time of each server when the test began.
_beginnings = pytest.StashKey[dict[int, tuple[int, datetime]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "flags of `fairlead serve` for the fixture cluster"
    parser.addini(_FLAGS, text, type="args", default=[])
    parser.addini(_DIALECT, "dialect of the fixture cluster", default="kubernetes")
    text = "releases of the API to test with, separated by commas; each test runs with each"
    parser.addini(_RELEASE, text, default="")
    parser.addoption("--fairlead-release", default=None, metavar="RELEASES", help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_clusters] = []
    names = config.getoption("--fairlead-release")
    words = (config.getini(_RELEASE) if names is None else names).split(",")
    config.pluginmanager.register(_releases([word.strip() for word in words if word.strip()]))


def _releases(names: list[str]) -> ModuleType:
    """Return a plugin with the fixture `fairlead_release`, which runs tests once with each."""
    for name in names:
        if name not in RELEASES:
            known = ", ".join(RELEASES)
            raise pytest.UsageError(f"--fairlead-release: {name!r} is none of {known}")

    @pytest.fixture(scope="session", params=names or None)
    def fairlead_release(request: pytest.FixtureRequest) -> str:
        """The release of the API that the test's servers serve; "" for the default of their
        dialect."""
        return str(request.param) if names else ""

    plugin = ModuleType("fairlead_releases")
    plugin.fairlead_release = fairlead_release  # type: ignore[attr-defined]
    return plugin


@contextmanager
def _running(config: pytest.Config, cluster: Cluster) -> Iterator[Cluster]:
    """Run a server whose log and requests are added to reports of failed tests."""
    with cluster:
        config.stash[_clusters].append(cluster)
        try:
            yield cluster
        finally:
            config.stash[_clusters].remove(cluster)


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config, fairlead_release: str) -> Iterator[Cluster]:
    """A server for the whole session, one per release and xdist worker."""
    flags, dialect = pytestconfig.getini(_FLAGS), pytestconfig.getini(_DIALECT)
    server = clusters.Cluster(*flags, dialect=dialect, release=fairlead_release)
    with _running(pytestconfig, server) as started:
        yield started


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """The name of a new namespace, which is deleted after the test."""
    name = cluster.new_namespace()
    yield name
    with suppress(*() if cluster.runs else (clusters.Unreachable,)):
        cluster.delete_namespace(name)


@pytest.fixture
def kubeconfig(cluster: Cluster) -> Path:
    """The kubeconfig file of the admin of `cluster`."""
    return cluster.kubeconfig


@pytest.fixture
def restored(cluster: Cluster) -> Iterator[Cluster]:
    """The fixture `cluster`, whose contents are restored after the test."""
    with cluster.snapshot():
        yield cluster


@pytest.fixture
def cluster_factory(pytestconfig: pytest.Config, fairlead_release: str) -> Iterator[ClusterFactory]:
    """Starts servers with other flags, or of another release; they end with the test."""
    with ExitStack() as running:

        def start(*flags: str, dialect: str = "kubernetes", **settings: Any) -> Cluster:
            settings.setdefault("release", fairlead_release)
            started = clusters.Cluster(*flags, dialect=dialect, **settings)
            return running.enter_context(_running(pytestconfig, started))

        yield start


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record log positions and times when a test begins, and reset clocks that it or a fixture
    moved."""
    item.stash[_beginnings] = {
        id(running_cluster): (running_cluster.log_size(), running_cluster.estimated_now())
        for running_cluster in item.config.stash[_clusters]
    }
    try:
        return (yield)
    finally:
        for running_cluster in item.config.stash[_clusters]:
            if running_cluster.clock_was_moved and running_cluster.runs:
                running_cluster.reset_clock()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End the faults, pauses and webhooks that a test has left on the shared server. Those of
    fixtures are ended by the fixtures."""
    before = {
        id(running_cluster): list(running_cluster.lent)
        for running_cluster in item.config.stash[_clusters]
    }
    try:
        return (yield)
    finally:
        for running_cluster in item.config.stash[_clusters]:
            running_cluster.end_lent(before.get(id(running_cluster), ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        running = item.config.stash[_clusters]
        for number, running_cluster in enumerate(running, 1):
            name = "fairlead" if number == 1 else f"fairlead {number}"
            report.sections += _report_sections(
                name, running_cluster, item.stash[_beginnings].get(id(running_cluster))
            )
    return report


def _report_sections(
    name: str, cluster: Cluster, began: tuple[int, datetime] | None
) -> Iterator[tuple[str, str]]:
    """Yield the report sections of one server."""
    position, since = began or (0, None)
    yield f"{name}: log", cluster.log_since(position) or "(nothing)"
    if cluster.runs:
        requests = "\n".join(cluster.last_requests(_MAX_REQUESTS, since))
        yield f"{name}: last requests", requests or "(none)"
    else:
        yield f"{name}: end", f"the server has ended with the exit code {cluster.exit_code}"
