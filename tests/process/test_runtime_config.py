"""--runtime-config and --feature-gates: served versions, and errors that stop the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.namespaces import Space
from support.process import ServerProcess, failed_start

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import parse_gates
from fairlead.resources.registry import Resources
from fairlead.resources.runtime_config import apply_runtime_config

FreshServer = Callable[..., ServerProcess]


@pytest.mark.parametrize(
    ("setting", "switched_on"),
    [
        ("", False),
        ("imagepolicy.k8s.io/v1alpha1=true", True),
        ("imagepolicy.k8s.io/v1alpha1", True),
        ("imagepolicy.k8s.io/v1alpha1=1", True),
        ("imagepolicy.k8s.io/v1alpha1=", True),
        ("imagepolicy.k8s.io/v1alpha1,api/all=F", True),
        ("imagepolicy.k8s.io/v1alpha1=0,api/all=T", False),
        ("imagepolicy.k8s.io/v1alpha1=false,api/all=true", False),
        ("api/alpha=true", True),
        ("api/all=true", True),
        ("api/beta=true", False),
    ],
)
def test_a_group_that_is_only_sent_is_off_unless_it_is_named(
    setting: str, switched_on: bool
) -> None:
    resources = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
    apply_runtime_config(resources, [setting])
    assert resources.sent_only == ({"imagepolicy.k8s.io/v1alpha1"} if switched_on else set())


@pytest.mark.parametrize(("word", "on"), [("1", True), ("T", True), ("0", False), ("False", False)])
def test_gates_are_set_with_every_word_for_yes_and_no(word: str, on: bool) -> None:
    assert parse_gates(f"HPAScaleToZero={word}")["HPAScaleToZero"] is on


def served(client: Client, *paths: str) -> list[bool]:
    return [client.get(path).status == 200 for path in paths]


def started(factory: pytest.TempPathFactory, *settings: str) -> Iterator[ServerProcess]:
    flags = [word for setting in settings for word in ("--runtime-config", setting)]
    server = ServerProcess(factory.mktemp("configured"), flags=tuple(flags)).start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def without_some(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without some versions and resources."""
    yield from started(
        tmp_path_factory,
        "autoscaling/v2beta2=true,api/beta=false,autoscaling/v1=false",
        "batch/v1=false,apps/v1/daemonsets=false,v1/endpoints=false",
    )


@pytest.fixture(scope="module")
def without_betas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without beta versions, and without some versions except a resource."""
    yield from started(
        tmp_path_factory,
        "api/beta=false,apps/v1=false,apps/v1/deployments=true,policy/v1=false,autoscaling/v2=false",
    )


@pytest.fixture(scope="module")
def with_two_versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    yield from started(tmp_path_factory, "api/all=false,api/v1,apps/v1")


def test_a_group_version_can_be_switched_off(without_some: ServerProcess) -> None:
    client = without_some.client()
    assert served(
        client, "/apis/autoscaling/v1", "/apis/autoscaling/v2", "/apis/autoscaling/v2beta2"
    ) == [False, True, True]
    versions = client.get("/apis/autoscaling").body["versions"]
    assert [version["version"] for version in versions] == ["v2", "v2beta2"]
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    assert client.get(path).status == 404
    assert "/apis/autoscaling/v1" not in client.get("/").body["paths"]


def test_a_group_whose_last_version_is_off_is_gone(without_some: ServerProcess) -> None:
    client = without_some.client()
    assert client.get("/apis/batch").text == "404 page not found\n"
    assert "batch" not in [group["name"] for group in client.get("/apis").body["groups"]]


def test_a_bare_key_switches_on(with_two_versions: ServerProcess) -> None:
    client = with_two_versions.client()
    assert served(client, "/api/v1", "/apis/apps/v1", "/apis/batch/v1") == [True, True, False]


def test_several_keys_and_several_flags(without_some: ServerProcess) -> None:
    client = without_some.client()
    paths = ("/apis/autoscaling/v1", "/apis/batch/v1", "/apis/apps/v1/daemonsets", "/api/v1")
    assert served(client, *paths) == [False, False, False, True]


def test_one_resource_can_be_switched_off(without_some: ServerProcess) -> None:
    client = without_some.client()
    names = [entry["name"] for entry in client.get("/apis/apps/v1").body["resources"]]
    assert "deployments" in names
    assert "daemonsets" not in names
    assert "daemonsets/status" not in names
    assert client.get("/apis/apps/v1/daemonsets").status == 404
    assert client.get("/apis/apps/v1/deployments").status == 200


def test_one_resource_of_a_version_that_is_off_can_be_switched_on(
    without_betas: ServerProcess,
) -> None:
    names = {
        entry["name"] for entry in without_betas.client().get("/apis/apps/v1").body["resources"]
    }
    assert names == {"deployments", "deployments/scale", "deployments/status"}


def test_all_betas_can_be_switched_off(without_betas: ServerProcess) -> None:
    client = without_betas.client()
    for group in client.get("/apis").body["groups"]:
        assert all("beta" not in version["version"] for version in group["versions"])
    assert served(client, "/apis/autoscaling/v1", "/apis/autoscaling/v2beta2") == [True, False]


def test_the_more_special_key_wins_whatever_the_order(without_some: ServerProcess) -> None:
    client = without_some.client()
    assert served(client, "/apis/autoscaling/v2beta2", "/apis/policy/v1beta1") == [True, False]


def test_the_core_group_can_be_named_two_ways(without_some: ServerProcess) -> None:
    client = without_some.client()
    names = [entry["name"] for entry in client.get("/api/v1").body["resources"]]
    assert "endpoints" not in names
    assert "pods" in names


@pytest.mark.parametrize(
    ("server_name", "off"),
    [
        ("without_betas", "policy/v1"),
        ("without_some", "autoscaling/v1"),
        ("with_two_versions", "authentication.k8s.io/v1"),
    ],
)
def test_every_other_group_works_without_one(
    request: pytest.FixtureRequest, server_name: str, off: str
) -> None:
    """Subresources may take a body of a type whose own group is not served."""
    client = request.getfixturevalue(server_name).client()
    assert served(client, "/api/v1", "/apis/apps/v1", f"/apis/{off}") == [True, True, False]
    core = {entry["name"]: entry for entry in client.get("/api/v1").body["resources"]}
    assert (core["pods/eviction"]["group"], core["pods/eviction"]["version"]) == ("policy", "v1")


def test_a_resource_works_while_the_version_it_is_stored_in_is_off(
    without_betas: ServerProcess,
) -> None:
    space = Space(without_betas, without_betas.client())
    scalers = space.collection("horizontalpodautoscalers", "autoscaling", "v1")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = scalers.create("a", spec={"scaleTargetRef": target, "maxReplicas": 5})
    scaler["spec"]["maxReplicas"] = 6
    scalers.update(scaler)
    assert scalers.names() == ["a"]


def test_keys_are_in_the_words_of_the_dialect(fresh_server: FreshServer) -> None:
    client = fresh_server(
        "--runtime-config", "storage.cluster.io/v1beta1=false", dialect="cluster"
    ).client()
    assert served(client, "/apis/storage.cluster.io/v1", "/apis/storage.cluster.io/v1beta1") == [
        True,
        False,
    ]


def test_simulated_metrics_can_be_switched_off(fresh_server: FreshServer) -> None:
    flags = ("--simulate-nodes", "1", "--runtime-config", "metrics.k8s.io/v1beta1=false")
    client = fresh_server(*flags).client()
    assert served(client, "/apis/metrics.k8s.io/v1beta1") == [False]


def test_objects_of_a_version_that_was_switched_off_are_kept(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    space.collection("leases", "coordination.@").create("a", spec={})
    path = space.collection("leases", "coordination.@").item("a")
    server.stop()
    server.flags = ("--runtime-config", "coordination.k8s.io/v1=false")
    server.start()
    assert server.client().get(path).status == 404
    server.stop()
    server.flags = ()
    server.start()
    assert server.client().get(path).status == 200


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("nope.example.com/v1=false", "nope.example.com/v1"),
        ("apps/v9=true", "apps/v9"),
        ("apps/v1=maybe", "maybe"),
        ("apps/v1/gadgets", "apps/v1/gadgets"),
        ("apps", "apps"),
        ("=false", ""),
        ("api/all=false", "only api/all=false"),
    ],
)
def test_a_bad_runtime_config_stops_the_start(tmp_path: Path, setting: str, word: str) -> None:
    done = failed_start(tmp_path, "--runtime-config", setting)
    assert done.returncode == 2
    assert "--runtime-config" in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("NoSuchGate=true", "NoSuchGate"),
        ("APIListChunking", "APIListChunking"),
        ("APIListChunking=maybe", "maybe"),
        ("APIListChunking=", "APIListChunking"),
    ],
)
def test_a_bad_feature_gate_stops_the_start(tmp_path: Path, setting: str, word: str) -> None:
    done = failed_start(tmp_path, "--feature-gates", setting)
    assert done.returncode == 2
    assert "--feature-gates" in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_gates_can_be_given_together_and_apart(fresh_server: FreshServer) -> None:
    server = fresh_server(
        "--feature-gates",
        "APIListChunking=false,WatchBookmark=true",
        "--feature-gates",
        "AllBeta=true",
    )
    space = Space(server, server.client())
    space.secrets.create_all("a", "b")
    assert space.secrets.names(limit=1) == ["a", "b"]


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--secure-port", "abc"], "--secure-port"),
        (["--max-requests-inflight", "-1"], "--max-requests-inflight"),
        (["--etcd-compaction-interval", "soon"], "--etcd-compaction-interval"),
        (["--shutdown-delay-duration", "5"], "--shutdown-delay-duration"),
        (["--livez-grace-period", "-1s"], "--livez-grace-period"),
        (["--dialect", "klingon"], "--dialect"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_a_bad_flag_stops_the_start(tmp_path: Path, flags: list[str], word: str) -> None:
    done = failed_start(tmp_path, *flags)
    assert done.returncode != 0
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--token-auth-file", "/no/such/file"], "/no/such/file"),
        (["--tls-cert-file", "/no/file", "--tls-private-key-file", "/no/file"], "/no/file"),
        (["--client-ca-file", "/no/such/file"], "/no/such/file"),
        (["--bind-address", "203.0.113.7"], "203.0.113.7"),
        (["--data-dir", "/proc/nothing"], "/proc/nothing"),
    ],
)
def test_what_is_not_there_stops_the_start_with_a_clear_message(
    tmp_path: Path, flags: list[str], word: str
) -> None:
    done = failed_start(tmp_path, *flags)
    assert done.returncode == 1
    assert done.stderr.startswith("fairlead: ") or "\nfairlead: " in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path, server: ServerProcess) -> None:
    port = server.address.rpartition(":")[2]
    done = failed_start(tmp_path, "--secure-port", port)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize(
    "row", ["token-only", "a,b", ",name,uid", "t,,uid"], ids=["one", "two", "no token", "no name"]
)
def test_a_bad_token_file_stops_the_start(tmp_path: Path, row: str) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(row + "\n")
    done = failed_start(tmp_path, "--token-auth-file", str(bad))
    assert done.returncode == 1
    assert "--token-auth-file" in done.stderr
    assert "line 1" in done.stderr
