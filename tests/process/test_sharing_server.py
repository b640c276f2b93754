"""A server in a leader election, with one candidate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.client import Client
from support.process import FreshServer, ServerProcess, failed_start
from support.waiting import eventually

from fairlead.cli.parser import Parser
from fairlead.process.certificates.issue import make_authority
from fairlead.process.flags.checks import FlagError, check_flags
from fairlead.process.flags.serve import add_serve_flags

# The embedded store has one server; what it does where there are others does not depend on that.
SHARING = "from fairlead.process import controllers; controllers.shares_store = lambda api: True"
SYSTEM = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = f"{SYSTEM}/kube-controller-manager"
ADDRESS = ("--advertise-address", "10.11.12.13")


def at_loopback(server: ServerProcess) -> Client:
    """The banner shows the advertised address, on which nothing listens."""
    port = server.address.rpartition(":")[2]
    return server.keep(Client(f"https://127.0.0.1:{port}", server.ca))


def test_who_is_elected_runs_the_controllers_and_leaves_nothing_behind(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server(*ADDRESS, prelude=SHARING)
    port = server.address.rpartition(":")[2]
    client = at_loopback(server)
    eventually(lambda: client.get(LEASE).status == 200, "the lease is there")
    holder = client.get(LEASE).body["spec"]["holderIdentity"]
    assert client.post("/api/v1/namespaces", {"metadata": {"name": "n"}}).status == 201
    account = "/api/v1/namespaces/n/serviceaccounts/default"
    eventually(lambda: client.get(account).status == 200, "controllers work")
    view = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
    eventually(lambda: bool(client.get(view).body["rules"]), "roles are aggregated")
    name = 'leader_election_master_status{name="kube-controller-manager"} 1.0'
    assert name in client.get("/metrics").text
    record = f"{SYSTEM}/kube-apiserver-endpoint-10.11.12.13-{port}"
    eventually(lambda: client.get(record).status == 200, "it says that it is there")

    def told() -> list[str]:
        events = client.get("/api/v1/namespaces/kube-system/events").body["items"]
        return [event["message"] for event in events if event["reason"] == "LeaderElection"]

    eventually(lambda: told() == [f"{holder} became leader"], "an event tells who leads")
    assert server.stop() == 0
    server.prelude = ""
    client = at_loopback(server.start())
    assert client.get(LEASE).body["spec"]["holderIdentity"] == ""
    assert client.get(record).status == 404


def test_without_an_election_nothing_is_written_and_controllers_run(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server(
        "--leader-elect=false", "--endpoint-reconciler-type=none", prelude=SHARING
    )
    client = server.client()
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    eventually(lambda: client.get(account).status == 200, "controllers work")
    assert client.get(SYSTEM).names == []
    assert client.get("/api/v1/namespaces/default/endpoints/kubernetes").status == 404


def test_a_server_alone_writes_no_leases(server: ServerProcess) -> None:
    client = server.client()
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    eventually(lambda: client.get(account).status == 200, "controllers work")
    assert [name for name in client.get(SYSTEM).names if name.startswith("kube-")] == []


def test_with_the_gate_a_server_has_an_identity(fresh_server: FreshServer) -> None:
    client = fresh_server("--feature-gates=APIServerIdentity=true", dialect="cluster").client()
    path = (
        "/apis/coordination.cluster.io/v1/namespaces/cluster-system/leases"
        "?labelSelector=cluster.io/component=cluster-apiserver"
    )
    eventually(lambda: len(client.get(path).names) == 1, "the lease is there")
    (name,) = client.get(path).names
    assert name.startswith("cluster-apiserver-")


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--leader-elect-lease-duration=10s", "must be greater than --leader-elect-renew-deadline"),
        ("--leader-elect-lease-duration=0", "must be at least 1s"),
        ("--leader-elect-renew-deadline=2s", "must be greater than 1.2 times"),
        ("--leader-elect-retry-period=0", "must be greater than zero"),
        ("--apiserver-count=0", "must be a positive number"),
        ("--identity-lease-duration-seconds=0", "must be a positive number"),
        ("--identity-lease-renew-interval-seconds=0", "must be a positive number"),
    ],
)
def test_flags_that_make_no_sense_are_refused(flag: str, message: str) -> None:
    parser = Parser(prog="fairlead serve")
    add_serve_flags(parser)
    name = flag.partition("=")[0]
    with pytest.raises(FlagError, match=f"^{name}: {message}"):
        check_flags(parser.parse_args([flag]))


def test_a_file_of_cas_can_be_named_for_clients(fresh_server: FreshServer, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    bundle = tmp_path / "root.crt"
    bundle.write_bytes(make_authority("root", now, timedelta(days=1)).certificate)
    client = fresh_server("--root-ca-file", str(bundle)).client()
    path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
    eventually(lambda: client.get(path).status == 200, "it is published")
    assert client.get(path).body["data"] == {"ca.crt": bundle.read_text()}


@pytest.mark.parametrize("content", [None, "", "nonsense"])
def test_a_file_of_cas_that_has_none_stops_the_start(tmp_path: Path, content: str | None) -> None:
    bundle = tmp_path / "root.crt"
    if content is not None:
        bundle.write_text(content)
    ended = failed_start(tmp_path, "--root-ca-file", str(bundle))
    assert ended.returncode == 1
    assert ended.stderr.startswith("fairlead: --root-ca-file: ")
    assert ended.stderr.count("\n") == 1
