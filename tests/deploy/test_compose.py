"""deploy/compose.yaml and haproxy.cfg: two servers on three etcd members behind a balancer. The
services run as processes with the commands of the file."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.client import PATIENCE, Client
from support.composed import DEPLOY, Composed, load_project
from support.etcd import needs_etcd
from support.kubectl import KUBECTL
from support.waiting import eventually

from fairlead.cli.parser import Parser
from fairlead.process.flags.serve import add_serve_flags

MAPS = "/api/v1/namespaces/default/configmaps"
needs_haproxy = pytest.mark.skipif(
    shutil.which("haproxy") is None, reason="there is no haproxy command"
)
pytestmark = [needs_etcd, needs_haproxy]


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    project = Composed(tmp_path_factory.mktemp("composed"))
    try:
        yield project.start()
    finally:
        project.close()


@pytest.fixture
def whole(composed: Composed) -> Composed:
    """Both servers run, and the balancer knows."""
    for name in ("server1", "server2"):
        if composed.processes[name].poll() is not None:
            composed.start_one(name)
            composed.await_ready(name)
    eventually(lambda: balanced_over(composed) == 2, "the balancer uses both")
    return composed


def balanced_over(composed: Composed) -> int:
    """The number of servers that answer new connections to the balancer."""
    clients = [composed.client() for _ in range(4)]
    starts = set()
    for client in clients:
        lines = client.get("/metrics").text.splitlines()
        starts |= {line for line in lines if line.startswith("process_start_time_seconds")}
        client.close()
    return len(starts)


class Writers:
    """Clients that create config maps through the balancer, over a new connection each. `lost` has
    what went wrong."""

    def __init__(self, composed: Composed, prefix: str) -> None:
        self.created: list[str] = []
        self.lost: list[str] = []
        self._composed = composed
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(f"{prefix}-{number}",))
            for number in range(3)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, prefix: str) -> None:
        number = 0
        while not self._ended.is_set():
            name, number = f"{prefix}-{number}", number + 1
            client = self._composed.client()
            try:
                status = client.post(MAPS, {"metadata": {"name": name}}).status
            except OSError as error:
                self.lost.append(f"{name}: {error!r}")
            else:
                (self.created if status == 201 else self.lost).append(f"{name}")
            finally:
                client.close()

    def await_more(self, count: int = 20) -> None:
        expected = len(self.created) + count
        eventually(lambda: len(self.created) >= expected, "requests are answered")

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)


def names(client: Client) -> set[str]:
    return set(client.get(MAPS).names)


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl command")
def test_kubectl_works_through_the_balancer_with_the_made_credentials(whole: Composed) -> None:
    environment = {**os.environ, "KUBECONFIG": str(whole.kubeconfig())}
    for words in (["create", "configmap", "hello"], ["get", "configmap", "hello", "-o", "name"]):
        ran = subprocess.run(
            ["kubectl", *words], capture_output=True, text=True, env=environment, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith("configmap/hello")


def test_what_servers_share_is_the_same(whole: Composed) -> None:
    """A token that one server signs is accepted by the other."""
    first, second = (whole.client(name) for name in ("server1", "server2"))
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    eventually(lambda: first.get(path.removesuffix("/token")).status == 200, "there is an account")
    token = first.post(path, {"spec": {}}).body["status"]["token"]
    for client in (first, second):
        client.token = token
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    whoami = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    bare = [
        Client(client.address, whole.certificates / "ca.crt", token) for client in (first, second)
    ]
    for client in bare:
        user = client.post(review, whoami).body["status"]["userInfo"]["username"]
        assert user == "system:serviceaccount:default:default"
        client.close()


def test_an_orderly_stop_loses_no_request_and_watches_go_on_at_the_other(whole: Composed) -> None:
    client = whole.client()
    version = client.get(MAPS).version
    with client.watch(MAPS, resourceVersion=version) as watch:
        writers = Writers(whole, "orderly")
        try:
            writers.await_more()
            stopped = ("server1", "server2")
            for name in stopped:
                assert whole.stop(name) == 0
                writers.await_more()
                whole.start_one(name)
                whole.await_ready(name)
                eventually(lambda: balanced_over(whole) == 2, "the balancer uses both again")
        finally:
            writers.end()
        seen = watch.rest()  # until the server of this watch was stopped
    assert writers.lost == []
    missing = set(writers.created) - {event.name for event in seen}
    last = seen[-1].version if seen else version
    if missing:
        with whole.client().watch(MAPS, resourceVersion=last) as resumed:
            missing -= {event.name for event in resumed.take(len(missing))}
    assert missing == set()


def test_a_killed_server_is_taken_out(whole: Composed) -> None:
    whole.kill("server2")
    writers = Writers(whole, "killed")
    try:
        writers.await_more(60)  # a connection that is refused goes to the other server
    finally:
        writers.end()
    assert writers.lost == []
    log = whole.log("balancer")
    eventually(lambda: "servers/server2 is DOWN" in log.read_text(), "it is seen")
    assert set(writers.created) <= names(whole.client())


def test_a_lost_member_of_etcd_is_not_noticed(whole: Composed) -> None:
    whole.kill("etcd3")
    client = whole.client()
    for number in range(10):
        assert client.post(MAPS, {"metadata": {"name": f"two-of-three-{number}"}}).status == 201
    whole.start_one("etcd3")


def test_the_time_to_stop_covers_delay_and_grace() -> None:
    parser = Parser(prog="serve")
    add_serve_flags(parser)
    server = load_project()["services"]["server1"]
    options = parser.parse_args(server["command"][1:])
    needed = options.shutdown_delay_duration + options.shutdown_grace
    assert float(server["stop_grace_period"].removesuffix("s")) > needed


def test_every_mounted_file_is_there() -> None:
    for service in load_project()["services"].values():
        sources = [mount.split(":")[0] for mount in service["volumes"]]
        files = [DEPLOY / source for source in sources if Path(source).suffix]
        assert all(file.is_file() for file in files)
