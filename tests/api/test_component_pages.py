"""/flagz, /statusz, /metrics/slis and the health checks of release 1.36."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Client
from support.process import ServerProcess

STRUCTURED = "application/json;g=config.k8s.io;v=v1beta1;as={}"


@pytest.fixture
def client_1_36(server_1_36: ServerProcess) -> Iterator[Client]:
    client = server_1_36.client()
    yield client
    client.close()


def test_flags_are_shown_with_their_values(client_1_36: Client) -> None:
    assert "\nrelease=1.36\n" in client_1_36.get("/flagz").text
    structured = client_1_36.get("/flagz", headers={"Accept": STRUCTURED.format("Flagz")})
    assert structured.headers["Content-Type"] == STRUCTURED.format("Flagz")
    assert structured.body["flags"]["release"] == "1.36"


def test_the_status_names_the_release(client_1_36: Client) -> None:
    assert "Emulation version: 1.36\n" in client_1_36.get("/statusz").text
    status = client_1_36.get("/statusz", headers={"Accept": STRUCTURED.format("Statusz")}).body
    assert (status["kind"], status["emulationVersion"]) == ("Statusz", "1.36")
    assert "/flagz" in status["paths"]


def test_other_forms_of_the_pages_are_not_acceptable(client_1_36: Client) -> None:
    for path in ("/flagz", "/statusz"):
        assert client_1_36.get(path, headers={"Accept": "application/json"}).status == 406


def test_results_of_health_checks_are_counted(client_1_36: Client) -> None:
    client_1_36.get("/readyz/ping")
    answer = client_1_36.get("/metrics/slis")
    assert 'kubernetes_healthcheck{name="ping",type="readyz"} 1.0' in answer.text
    assert (
        'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"}' in answer.text
    )
    assert answer.headers["Content-Type"].endswith("; escaping=underscores")


def test_the_pages_are_among_the_paths(client_1_36: Client) -> None:
    assert {"/flagz", "/statusz", "/metrics/slis"} <= set(client_1_36.get("/").body["paths"])


def test_the_health_checks_have_the_names_of_the_release(
    client_1_36: Client, client: Client
) -> None:
    checks = client_1_36.get("/livez?verbose=1").text
    for name in (
        "loopback-serving-certificate",
        "poststarthook/start-apiserver-admission-initializer",
        "poststarthook/storage-readiness",
    ):
        assert f"[+]{name} ok" in checks
        assert client.get(f"/livez/{name}").status == 404
    assert "apiservice-status-available-controller" not in checks


def test_release_1_25_has_no_such_pages(client: Client) -> None:
    for path in ("/flagz", "/statusz", "/metrics/slis"):
        assert client.get(path).status == 404
