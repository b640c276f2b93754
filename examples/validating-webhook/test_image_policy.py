"""The rule as a function, and the webhook as a process that a real server calls."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from image_policy import OPT_IN, complaints, configuration, image_complaints

from fairlead.client import has_condition
from fairlead.client.errors import ApiError, Invalid
from fairlead.testing import Cluster, Denied

HERE = Path(__file__).parent
REGISTRY = "registry.example.com"

Object = dict[str, Any]


def pod(image: str, name: str = "web") -> Object:
    containers = [{"name": "web", "image": image}]
    return {"metadata": {"name": name}, "spec": {"containers": containers}}


@pytest.mark.parametrize(
    "image",
    [
        f"{REGISTRY}/web:1.4",
        f"{REGISTRY}/team/web:v2-rc.1",
        f"{REGISTRY}/web@sha256:0123456789abcdef",
        f"{REGISTRY}/web:latest@sha256:0123456789abcdef",
        "localhost:5000/web:1",
    ],
)
def test_images_that_are_allowed(image: str) -> None:
    assert list(image_complaints(image, {REGISTRY, "localhost:5000"})) == []


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("", "not the name"),
        (f"{REGISTRY}/web:1 4", "not the name"),
        (f"{REGISTRY}/web", "neither a digest nor a tag"),
        (f"{REGISTRY}/web:latest", "neither a digest nor a tag"),
        ("nginx:1.25", "comes from docker.io"),
        (f"{REGISTRY}.evil.example/web:1", f"comes from {REGISTRY}.evil.example"),
        (f"evil.example/{REGISTRY}/web:1", "comes from evil.example"),
        (f"{REGISTRY}:444/web:1", f"comes from {REGISTRY}:444"),
    ],
)
def test_images_that_are_refused(image: str, words: str) -> None:
    assert words in "".join(image_complaints(image, {REGISTRY}))


def test_the_rule_alone_with_a_webhook_of_the_kit(cluster: Cluster, namespace: str) -> None:
    def decide(value: Object) -> None:
        if problems := list(complaints(value, {REGISTRY})):
            raise Denied(problems[0])

    pods = cluster.admin.resource("pods")
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    with cluster.admission(decide, ["pods"], namespaceSelector=only_here) as admission:
        pods.create(pod(f"{REGISTRY}/web:1"), namespace)
        with pytest.raises(ApiError, match=r"spec\.containers\[0\]\.image: .* from docker\.io"):
            pods.create(pod("nginx:1.25", "other"), namespace)
    assert [call["operation"] for call in admission.calls] == ["CREATE", "CREATE"]


class Policy:
    """The webhook as it is deployed: a process with a certificate."""

    def __init__(self, directory: Path) -> None:
        self.certificate = directory / "tls.crt"
        self._key = directory / "tls.key"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"),
                *("-keyout", str(self._key), "-out", str(self.certificate)),
                *("-subj", "/CN=image-policy", "-addext", "subjectAltName=IP:127.0.0.1"),
            ],
            check=True,
            capture_output=True,
        )
        self.port = 0
        self.start()

    def start(self) -> None:
        program = (sys.executable, str(HERE / "image_policy.py"), "serve", "--registry", REGISTRY)
        files = ("--certificate", str(self.certificate), "--key", str(self._key))
        self._process = subprocess.Popen(
            [*program, *files, "--port", str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self.port = urlsplit(self.url).port or 0

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)

    def ask(self, content: bytes, **headers: str) -> tuple[int, bytes]:
        trust = ssl.create_default_context(cafile=str(self.certificate))
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=30, context=trust)
        try:
            connection.request("POST", "/", content, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def policy(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Policy]:
    policy = Policy(tmp_path_factory.mktemp("policy"))
    program = (sys.executable, str(HERE / "image_policy.py"), "configuration")
    flags = ("--url", policy.url, "--ca", str(policy.certificate))
    printed = subprocess.run([*program, *flags], check=True, capture_output=True, text=True)
    (applied,) = cluster.apply(json.loads(printed.stdout))
    yield policy
    cluster.admin.resource_of(applied).delete(applied["metadata"]["name"])
    policy.stop()


@pytest.fixture
def enforced(cluster: Cluster, namespace: str, policy: Policy) -> str:
    """A namespace for which the webhook is called."""
    labels = {"metadata": {"labels": OPT_IN}}
    cluster.admin.resource("namespaces").patch(namespace, labels)
    return namespace


def test_a_pod_is_let_in_or_refused_with_all_that_is_wrong(cluster: Cluster, enforced: str) -> None:
    cluster.apply(HERE / "pod.yaml", enforced)
    with pytest.raises(Invalid) as refused:
        cluster.admin.resource("pods").create(pod("nginx", "other"), enforced)
    assert refused.value.message == (
        'admission webhook "image-policy.example.com" denied the request: '
        'spec.containers[0].image: "nginx" comes from docker.io, not from registry.example.com; '
        'spec.containers[0].image: "nginx" has neither a digest nor a tag other than latest'
    )


def test_an_image_cannot_be_changed_to_one_that_is_refused(cluster: Cluster, enforced: str) -> None:
    cluster.apply(HERE / "pod.yaml", enforced)
    patch = [{"op": "replace", "path": "/spec/containers/0/image", "value": "nginx:1"}]
    with pytest.raises(Invalid, match=r"docker\.io"):
        cluster.admin.resource("pods").patch(
            "web", patch, enforced, type="application/json-patch+json"
        )


def test_pods_of_a_deployment_are_refused_too(cluster: Cluster, enforced: str) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("nginx")["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    cluster.apply({**deployment, "spec": spec}, enforced)
    failed = has_condition("ReplicaFailure")
    result = cluster.admin.resource("deployments").wait("web", failed, enforced, timeout=30)
    assert "comes from docker.io" in str(result)


@pytest.mark.usefixtures("policy")
def test_other_namespaces_are_not_asked_about(cluster: Cluster, namespace: str) -> None:
    cluster.admin.resource("pods").create(pod("nginx"), namespace)


def test_pods_are_refused_while_it_does_not_answer(
    cluster: Cluster, enforced: str, policy: Policy
) -> None:
    pods = cluster.admin.resource("pods")
    policy.stop()
    try:
        with pytest.raises(ApiError, match='failed calling webhook "image-policy') as refused:
            pods.create(pod(f"{REGISTRY}/web:1"), enforced)
    finally:
        policy.start()
    assert refused.value.code == 500
    pods.create(pod(f"{REGISTRY}/web:1"), enforced)


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(
    cluster: Cluster, namespace: str, policy: Policy
) -> None:
    other = configuration(policy.url, cluster.ca)
    other["metadata"]["name"] = "mistaken"
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    other["webhooks"][0]["namespaceSelector"] = only_here
    (applied,) = cluster.apply(other)
    try:
        with pytest.raises(ApiError, match="certificate"):
            cluster.admin.resource("pods").create(pod(f"{REGISTRY}/web:1"), namespace)
    finally:
        cluster.admin.resource_of(applied).delete("mistaken")


@pytest.mark.parametrize(
    ("content", "headers", "code"),
    [
        (b"", {}, 400),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"request": {"uid": "1", "object": 7}}', {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"", {"Content-Length": "many"}, 411),
        (b"", {"Content-Length": "99999999"}, 413),
    ],
)
def test_what_is_no_review_is_refused(
    policy: Policy, content: bytes, headers: dict[str, str], code: int
) -> None:
    assert policy.ask(content, **headers)[0] == code
