"""Which tests run, and servers for them: one for each dialect and worker, and new ones for tests
with their own flags.

By default slow tests are left out, tests in both dialects run in `cluster` only if they are marked
`both_dialects`, and properties are tried on few examples. `--all`, which `make test-all` gives,
runs everything. A test that is named on the command line (`FILE::TEST`) always runs.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from support.audited import Audited
from support.client import Client
from support.commands import Commands
from support.namespaces import Space
from support.power import Power
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.simulation import Pods, await_nodes
from support.webhook import Hooked, WebhookServer

settings.register_profile("small", max_examples=40, deadline=None)
settings.register_profile("large", max_examples=300, deadline=None)

# Fixtures that run a test once in each dialect.
_BOTH_DIALECTS = ("any_server", "any_pods")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run every test, in both dialects")


def pytest_configure(config: pytest.Config) -> None:
    """Programs that tests start inherit ignored signals: SIGINT in a run that a shell has put into
    the background, SIGHUP in one under `nohup`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    settings.load_profile("large" if config.getoption("--all") else "small")
    gc.disable()  # until all tests are collected


def pytest_collection_finish() -> None:
    """Hide the collected tests from the garbage collector, which would go through all of them
    again and again."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (left_out if _is_for_all_only(item) else chosen).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen


def _is_for_all_only(item: pytest.Item) -> bool:
    if item.get_closest_marker("slow"):
        return True
    parameters: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    is_second_dialect = any(parameters.get(name) == "cluster" for name in _BOTH_DIALECTS)
    return is_second_dialect and item.get_closest_marker("both_dialects") is None


def _shared(factory: pytest.TempPathFactory, dialect: str) -> Iterator[ServerProcess]:
    running = ServerProcess(factory.mktemp(dialect), dialect).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in the kubernetes dialect, shared by all tests of a worker."""
    yield from _shared(tmp_path_factory, "kubernetes")


@pytest.fixture(scope="session")
def cluster_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in the cluster dialect, shared by all tests of a worker."""
    yield from _shared(tmp_path_factory, "cluster")


@pytest.fixture(scope="session")
def server_1_36(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of release 1.36 in the kubernetes dialect, shared by all tests of a worker."""
    directory = tmp_path_factory.mktemp("kubernetes-1.36")
    running = ServerProcess(directory, "kubernetes", ("--release", "1.36")).start()
    yield running
    running.stop()


@pytest.fixture(params=["kubernetes", "cluster"])
def any_server(request: pytest.FixtureRequest) -> ServerProcess:
    """Each of the two, one after the other."""
    name = {"kubernetes": "server", "cluster": "cluster_server"}[request.param]
    running: ServerProcess = request.getfixturevalue(name)
    return running


@pytest.fixture
def client(any_server: ServerProcess) -> Iterator[Client]:
    clients = any_server.client()
    yield clients
    clients.close()


@pytest.fixture
def space(any_server: ServerProcess, client: Client) -> Iterator[Space]:
    """A fresh namespace, in each dialect."""
    space = Space(any_server, client)
    yield space
    space.leave()


@pytest.fixture
def kubernetes(server: ServerProcess) -> Iterator[Space]:
    """A fresh namespace in the kubernetes dialect."""
    client = server.client()
    kubernetes = Space(server, client)
    yield kubernetes
    kubernetes.leave()
    client.close()


@pytest.fixture
def space_1_36(server_1_36: ServerProcess) -> Iterator[Space]:
    """A fresh namespace in release 1.36, in the kubernetes dialect."""
    client = server_1_36.client()
    space = Space(server_1_36, client)
    yield space
    space.leave()
    client.close()


@pytest.fixture
def cluster(cluster_server: ServerProcess) -> Iterator[Space]:
    """A fresh namespace in the cluster dialect."""
    client = cluster_server.client()
    cluster = Space(cluster_server, client)
    yield cluster
    cluster.leave()
    client.close()


@pytest.fixture
def fresh_server(tmp_path: Any) -> Iterator[FreshServer]:
    """Starts servers with flags of the test's own; they end with the test.

    `fresh_server("--flag", "value", dialect=..., prelude=...)`; see ServerProcess.
    """
    servers: list[ServerProcess] = []

    def start_one(*flags: str, dialect: str = "kubernetes", prelude: str = "") -> ServerProcess:
        directory = tmp_path / f"server-{len(servers)}"
        directory.mkdir()
        servers.append(ServerProcess(directory, dialect, flags, prelude))
        return servers[-1].start()

    yield start_one
    for running in servers:
        running.kill()


def _simulated(
    factory: pytest.TempPathFactory, dialect: str, release: str = "1.25"
) -> Iterator[ServerProcess]:
    directory = factory.mktemp(f"simulated-{dialect}-{release}")
    flags = ("--simulate-nodes", "3", "--release", release)
    running = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
    await_nodes(running, 3)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with simulated nodes, in the kubernetes dialect; its clock can be moved."""
    yield from _simulated(tmp_path_factory, "kubernetes")


@pytest.fixture(scope="session")
def simulated_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with simulated nodes, in the cluster dialect; its clock can be moved."""
    yield from _simulated(tmp_path_factory, "cluster")


@pytest.fixture(scope="session")
def simulated_1_36(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of release 1.36 with simulated nodes, in the kubernetes dialect."""
    yield from _simulated(tmp_path_factory, "kubernetes", "1.36")


@pytest.fixture(params=["kubernetes", "cluster"])
def any_pods(request: pytest.FixtureRequest) -> Iterator[Pods]:
    """The pods of a fresh namespace with simulated nodes, in each dialect."""
    name = {"kubernetes": "simulated", "cluster": "simulated_cluster"}[request.param]
    yield from _pods(request.getfixturevalue(name))


@pytest.fixture
def pods(simulated: ServerProcess) -> Iterator[Pods]:
    """The pods of a fresh namespace with simulated nodes, in the kubernetes dialect."""
    yield from _pods(simulated)


@pytest.fixture
def pods_1_36(simulated_1_36: ServerProcess) -> Iterator[Pods]:
    """The pods of a fresh namespace with simulated nodes of release 1.36."""
    yield from _pods(simulated_1_36)


def _pods(server: ServerProcess) -> Iterator[Pods]:
    client = server.client()
    created = Pods(Space(server, client))
    yield created
    created.clear()
    client.close()


@pytest.fixture(scope="session")
def webhook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    """An admission webhook, shared by all tests of a worker."""
    running = WebhookServer(tmp_path_factory.mktemp("webhook"))
    yield running
    running.close()


@pytest.fixture
def hooked(space: Space, webhook_server: WebhookServer) -> Iterator[Hooked]:
    """Webhook configurations that end with the test, in each dialect."""
    hooked = Hooked(space, webhook_server)
    yield hooked
    hooked.remove()


@pytest.fixture
def hooks(kubernetes: Space, webhook_server: WebhookServer) -> Iterator[Hooked]:
    """The same in the kubernetes dialect."""
    hooks = Hooked(kubernetes, webhook_server)
    yield hooks
    hooks.remove()


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """A server in the kubernetes dialect that keeps an audit log, for all tests that need no flags
    of their own."""
    audited = Audited(tmp_path_factory.mktemp("audited"))
    yield audited
    audited.server.stop()


@pytest.fixture
def fairlead(space: Space) -> Commands:
    """The command line in a fresh namespace, in each dialect."""
    return Commands(space)


@pytest.fixture
def fairlead_kubernetes(kubernetes: Space) -> Commands:
    """The same in the kubernetes dialect alone, where kubectl can be compared."""
    return Commands(kubernetes)


@pytest.fixture(scope="session")
def testing_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with the testing API, shared by all tests of a worker."""
    flags = ("--testing", "--simulate-nodes", "1")
    running = ServerProcess(tmp_path_factory.mktemp("testing"), "kubernetes", flags).start()
    yield running
    running.stop()


@pytest.fixture
def power(testing_server: ServerProcess) -> Iterator[Power]:
    """A fresh namespace and all powers; faults end with the test."""
    client = testing_server.client()
    power = Power(Space(testing_server, client))
    yield power
    power.client.delete(f"{power.base}/faults")
    client.close()
