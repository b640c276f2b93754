"""The pytest plugin: servers as fixtures, and their part of the story when a test fails."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # loaded by the first test that wants a server
    from fairlead.testing.cluster import Cluster

ClusterFactory = Callable[..., "Cluster"]

_FLAGS, _DIALECT = "fairlead_flags", "fairlead_dialect"
_MOST_REQUESTS = 20
_clusters = pytest.StashKey[list["Cluster"]]()
_positions = pytest.StashKey[dict[int, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_FLAGS, "flags of `fairlead serve` for the fixture cluster", default="")
    parser.addini(_DIALECT, "dialect of the fixture cluster", default="kubernetes")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_clusters] = []


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """A server for the whole run, of this worker if there are several."""
    from fairlead.testing.cluster import Cluster

    flags = shlex.split(pytestconfig.getini(_FLAGS))
    with Cluster(*flags, dialect=pytestconfig.getini(_DIALECT)) as made:
        pytestconfig.stash[_clusters].append(made)
        yield made
        pytestconfig.stash[_clusters].remove(made)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """The name of a fresh namespace, which is deleted after the test."""
    name = cluster.new_namespace()
    yield name
    cluster.delete_namespace(name)


@pytest.fixture
def kubeconfig(cluster: Cluster) -> Path:
    """The client configuration file of the admin of `cluster`."""
    return cluster.kubeconfig


@pytest.fixture
def restored(cluster: Cluster) -> Iterator[Cluster]:
    """The fixture `cluster`, in which everything is as it was again after the test."""
    with cluster.snapshot():
        yield cluster


@pytest.fixture
def cluster_factory(pytestconfig: pytest.Config) -> Iterator[ClusterFactory]:
    """Starts servers with other flags; they end with the test."""
    from fairlead.testing.cluster import Cluster

    made: list[Cluster] = []

    def start(*flags: str, dialect: str = "kubernetes", **settings: Any) -> Cluster:
        one = Cluster(*flags, dialect=dialect, **settings).start()
        made.append(one)
        pytestconfig.stash[_clusters].append(one)
        return one

    yield start
    for one in made:
        pytestconfig.stash[_clusters].remove(one)
        one.stop()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note where each log is when a test begins."""
    item.stash[_positions] = {id(one): one.log_size() for one in item.config.stash[_clusters]}
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.when in ("setup", "call"):
        for number, one in enumerate(item.config.stash[_clusters], 1):
            log = one.log_since(item.stash[_positions].get(id(one), 0))
            asked = "\n".join(one.last_requests(_MOST_REQUESTS))
            name = "fairlead" if number == 1 else f"fairlead {number}"
            report.sections.append((f"{name}: log", log or "(nothing)"))
            report.sections.append((f"{name}: last requests", asked or "(none)"))
    return report
