"""deploy/kubernetes: a cluster accepts the manifests and runs what they describe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from support.commands import run_words
from support.composed import DEPLOY, load_project, make_certificates
from support.kubectl import KUBECTL, Kubectl
from support.process import FreshServer

MANIFESTS = DEPLOY / "kubernetes"


def documents(name: str) -> list[dict[str, object]]:
    return list(yaml.safe_load_all((MANIFESTS / name).read_text()))


def container(name: str, kind: str) -> dict[str, list[str]]:
    workload = next(item for item in documents(name) if item["kind"] == kind)
    spec = workload["spec"]
    assert isinstance(spec, dict)
    (only,) = spec["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


@pytest.mark.slow
def test_a_cluster_runs_them(fresh_server: FreshServer, tmp_path: Path) -> None:
    """Its nodes are simulated; pods are admitted by the restricted level of pod security."""
    server = fresh_server("--release", "1.36", "--simulate-nodes", "3")
    files = make_certificates(tmp_path / "certificates", "api.example.com", "fairlead.fairlead.svc")
    config = ("--kubeconfig", str(server.data / "admin.kubeconfig"))

    def run(*words: str) -> str:
        ran = run_words(*config, *words)
        assert ran.code == 0, ran.errors
        assert "Warning" not in ran.errors
        return ran.out

    run("create", "namespace", "fairlead")
    create = ("create", "secret", "generic", "certificates", f"--from-file={files}")
    run("-n", "fairlead", *create)
    applied = run("apply", "-k", str(MANIFESTS))
    assert len(applied.splitlines()) == 7
    for workload in ("statefulset/etcd", "deployment/fairlead"):
        run("-n", "fairlead", "rollout", "status", workload, "--timeout=60s")
    image = run("-n", "fairlead", "get", "deployment", "fairlead", "-o", "jsonpath={..image}")
    assert image == "registry.example.com/fairlead:latest"


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl command")
def test_kubectl_applies_them(fresh_server: FreshServer, tmp_path: Path) -> None:
    kubectl = Kubectl(fresh_server("--release", "1.36"), "fairlead", tmp_path)
    kubectl("create", "namespace", "fairlead")
    assert "deployment.apps/fairlead created" in kubectl("apply", "-k", str(MANIFESTS))


def without_names(flags: list[str]) -> set[str]:
    """Flags without what differs between machines."""
    shown = {re.sub(r"etcd-?\d(\.etcd)?|\$\(NAME\)(\.etcd)?", "MEMBER", flag) for flag in flags}
    varying = ("--advertise-address=", "--data-dir=", "--shutdown-delay-duration=", "--initial-")
    return {flag for flag in shown if not flag.startswith(varying)}


def test_the_flags_are_those_of_the_compose_file() -> None:
    services = load_project()["services"]
    server = container("servers.yaml", "Deployment")["args"]
    assert without_names(server) == without_names(services["server1"]["command"])
    member = container("etcd.yaml", "StatefulSet")["command"]
    assert without_names(member) == without_names(services["etcd1"]["command"])
