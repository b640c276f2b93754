"""`fairlead test-env`, used exactly as controller-runtime's envtest does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.envtest import Environment, StartFailed, has_flag

from fairlead.client.conditions import exists, has_condition
from fairlead.client.errors import Forbidden
from fairlead.client.sync import SyncClient

POD = {
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "c", "image": "c"}], "nodeName": "nowhere"},
}
DEFINITION = {
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("assets") / "bin"
    words = [sys.executable, "-m", "fairlead", "test-env", str(place)]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    assert result.stdout == f"{place}\n"
    assert not result.stderr
    return place


@pytest.fixture(scope="module")
def environment(assets: Path) -> Iterator[Environment]:
    created = Environment(assets).start()
    yield created
    created.stop()


@pytest.fixture
def admin(environment: Environment) -> Iterator[SyncClient]:
    with SyncClient.load(environment.add_user("default", ["system:masters"])) as client:
        yield client


def test_without_a_directory_it_is_one_of_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = [sys.executable, "-m", "fairlead", "test-env"]
    first, second = (
        subprocess.run(words, capture_output=True, text=True, check=True).stdout for _ in range(2)
    )
    assert first == second
    assert sorted(path.name for path in Path(first.strip()).iterdir()) == [
        "etcd",
        "kube-apiserver",
        "kubectl",
    ]
    assert Path(first.strip()).is_relative_to(tmp_path)
    refused = subprocess.run([*words, "/proc/nowhere"], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "cannot write to /proc/nowhere" in refused.stderr


@pytest.mark.parametrize("release", ["1.25", "1.36"])
def test_programs_serve_the_chosen_release(tmp_path: Path, release: str) -> None:
    place = tmp_path / "bin"
    words = [sys.executable, "-m", "fairlead", "test-env", f"--release={release}", str(place)]
    subprocess.run(words, check=True, capture_output=True)
    version = [str(place / "kube-apiserver"), "--version"]
    done = subprocess.run(version, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"Kubernetes v{release}.")
    environment = Environment(place).start()
    with SyncClient.load(environment.add_user("admin", ["system:masters"])) as client:
        minor = json.loads(client.raw("GET", "/version"))["minor"]
    environment.stop()
    assert f"1.{minor}" == release


def test_the_help_has_no_flags_that_newer_servers_do_not_have(assets: Path) -> None:
    assert not has_flag(assets / "kube-apiserver", "insecure-port")
    assert has_flag(assets / "kube-apiserver", "secure-port")
    assert has_flag(assets / "etcd", "data-dir")


def test_flags_of_all_versions_are_taken_or_passed_over(assets: Path) -> None:
    """The flags of all versions of controller-runtime, and some that suites add."""
    taken = {
        "advertise-address": "127.0.0.1",
        "disable-admission-plugins": "NamespaceLifecycle,LimitRanger,ServiceAccount,"
        "TaintNodesByCondition,Priority,DefaultTolerationSeconds,DefaultStorageClass,"
        "StorageObjectInUseProtection,PersistentVolumeClaimResize,ResourceQuota",
        "runtime-config": "api/all=true",
        "v": "4",
    }
    passed_over = {
        "insecure-port": "0",
        "insecure-bind-address": "127.0.0.1",
        "admission-control": "AlwaysAdmit",
        "logtostderr": "true",
        "flag-of-tomorrow": "yes",
    }
    gates = "CustomResourceValidationExpressions=true,AllAlpha=false,GateOfTomorrow=true"
    more = taken | passed_over | {"feature-gates": gates}
    output = Environment(assets, more).start().stop()
    for name, value in passed_over.items():
        assert f"--{name}={value} is ignored" in output
    assert "--feature-gates=GateOfTomorrow=true is ignored" in output
    for name in taken:
        assert f"--{name}=" not in output


def test_users_are_those_of_its_client_ca(environment: Environment, admin: SyncClient) -> None:
    assert admin.resource("namespaces").get("default")
    with SyncClient.load(environment.add_user("ann")) as ann:
        pods = ann.resource("pods")
        with pytest.raises(Forbidden, match='User "ann" cannot list'):
            pods.list("default")


def test_the_flags_are_heeded(admin: SyncClient) -> None:
    assert admin.resource("services").get("kubernetes")["spec"]["clusterIP"] == "10.0.0.1"
    admin.resource("pods").create(POD, "default")  # there is no account, and it needs none
    assert admin.resource("serviceaccounts").list("default")["items"] == []


def test_no_controllers_run(admin: SyncClient) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    admin.resource("deployments").create({"metadata": {"name": "web"}, "spec": spec}, "default")
    status = {"status": {"replicas": 1, "readyReplicas": 1}}
    admin.resource("deployments").patch("web", status, "default", subresource="status")
    admin.resource("idlewaits.testing.fairlead.dev").create({})
    assert admin.resource("replicasets").list("default")["items"] == []
    deployment = admin.resource("deployments").get("web", "default")
    assert deployment["status"]["readyReplicas"] == 1


def test_definitions_are_established_and_served(admin: SyncClient) -> None:
    definitions = admin.resource("customresourcedefinitions")
    definitions.create(DEFINITION)
    definitions.wait("widgets.example.org", has_condition("Established"), timeout=30)
    admin.resource("widgets").create(
        {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}}, "default"
    )


def test_its_command_line_reads_the_configuration_of_a_user(
    environment: Environment, assets: Path
) -> None:
    config = environment.add_user("ben", ["system:masters"])
    words = [str(assets / "kubectl"), f"--kubeconfig={config}", "get", "namespaces", "-o", "name"]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "namespace/default" in output.split()


def test_a_server_starts_again_on_its_port_and_two_environments_are_apart(
    environment: Environment, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_TEST_ENV_FLAGS", "--controllers=*")
    more = {
        "feature-gates": "AllAlpha=false",
        "insecure-port": "0",
        "advertise-address": "127.0.0.1",
    }
    other = Environment(assets, more).start()
    try:
        with SyncClient.load(other.add_user("default", ["system:masters"])) as client:
            client.resource("configmaps").create({"metadata": {"name": "kept"}}, "default")
        text = other.stop_server()
        assert "--insecure-port=0 is ignored" in text
        other.start_server(other.port)
        with SyncClient.load(other.add_user("default", ["system:masters"])) as client:
            assert client.resource("configmaps").get("kept", "default")
            accounts = client.resource("serviceaccounts")
            assert accounts.wait("default", exists, "default", timeout=30)
            names = {
                item["metadata"]["name"]
                for item in client.resource("deployments").list("")["items"]
            }
            assert names == set()
    finally:
        other.stop()


def test_what_cannot_start_says_why(assets: Path) -> None:
    alone = Environment(assets)
    alone._etcd_url = "http://127.0.0.1:1"
    with pytest.raises(StartFailed, match=r"nothing answers at http://127\.0\.0\.1:1"):
        alone.start_server()
    wrong = Environment(assets, {"secure-port": "many"})
    wrong.start_etcd()
    with pytest.raises(StartFailed, match="--secure-port"):
        wrong.start_server()
    wrong.etcd.stop()


@pytest.fixture(scope="module")
def webhooks_of_go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in `envtest_webhooks`, which needs nothing but Go's own library."""
    if shutil.which("go") is None:
        pytest.skip(
            "Go is not installed: webhooks as controller-runtime installs them are untested"
        )
    created = tmp_path_factory.mktemp("go") / "webhooks"
    source = Path(__file__).parent / "envtest_webhooks" / "main.go"
    settings = {"GO111MODULE": "off", "GOFLAGS": ""}
    words = ["go", "build", "-o", str(created), str(source)]
    subprocess.run(words, env={**os.environ, **settings}, check=True, timeout=600)
    return created


@pytest.mark.parametrize("shape", ["serving", "authority", "knative"])
def test_webhooks_with_certificates_as_go_programs_make_them_are_called(
    environment: Environment, webhooks_of_go: Path, tmp_path: Path, shape: str
) -> None:
    environment.write_credentials(tmp_path, "installer", ["system:masters"])
    words = [str(webhooks_of_go), environment.url, str(tmp_path), shape]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120)
    denial = 'admission webhook "webhook.example.org" denied the request: seen: yes'
    assert result.stdout == f"400 {denial}\n", result.stderr
