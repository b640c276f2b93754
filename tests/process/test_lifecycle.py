"""From start to stop: the ready line, created files, SIGTERM, and a second start."""

from __future__ import annotations

import http.client
import json
import signal
import stat
import time
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest
from support.client import Client
from support.namespaces import Space
from support.process import ServerProcess, failed_start
from support.waiting import eventually

FreshServer = Callable[..., ServerProcess]


def test_everything_it_makes_is_private(fresh_server: FreshServer) -> None:
    server = fresh_server()
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    for name in ("admin.kubeconfig", "fairlead.db", "pki/ca.key", "pki/admin.key"):
        assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600, name
    for key in server.data.glob("pki/*.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600, key


def test_the_client_configuration_works_by_itself(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    server = fresh_server()
    config = json.loads((server.data / "admin.kubeconfig").read_text())
    cluster = config["clusters"][0]["cluster"]
    user = config["users"][0]["user"]
    assert cluster["server"] == server.address
    files = {}
    for name, text in (
        ("ca", cluster["certificate-authority-data"]),
        ("crt", user["client-certificate-data"]),
        ("key", user["client-key-data"]),
    ):
        files[name] = tmp_path / name
        files[name].write_bytes(b64decode(text))
    client = Client(cluster["server"], files["ca"], None, (files["crt"], files["key"]))
    assert client.get("/api/v1/namespaces").status == 200
    client.close()


def test_the_authority_and_what_it_signed_outlive_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server()
    ca = server.ca.read_bytes()
    admin = (server.data / "pki" / "admin.crt").read_bytes()
    server.stop()
    server.start()
    assert server.ca.read_bytes() == ca
    assert (server.data / "pki" / "admin.crt").read_bytes() == admin
    assert server.client().get("/readyz").status == 200


def test_a_server_starts_within_a_moment(fresh_server: FreshServer) -> None:
    server = fresh_server()
    server.stop()
    best = 60.0
    for _ in range(3):
        started = time.monotonic()
        server.start()
        best = min(best, time.monotonic() - started)
        server.stop()
    assert best < 3.0


def test_objects_outlive_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    config_map = space.config_maps.create("a", labels={"x": "1"}, data={"k": "v"})
    space.secrets.create("gone")
    space.secrets.remove("gone")
    version = space.secrets.version()
    assert server.stop() == 0
    server.start()
    client = server.client()
    assert client.get(space.config_maps.item("a")).body == config_map
    assert client.get(space.secrets.path).names == []
    listed = client.get(space.config_maps.path, labelSelector="x=1")
    assert listed.names == ["a"]
    assert int(listed.version) >= int(version)


def test_a_restart_writes_nothing_again(fresh_server: FreshServer) -> None:
    server = fresh_server()
    before = server.client().get("/api/v1/namespaces").body["items"]
    server.stop()
    server.start()
    assert server.client().get("/api/v1/namespaces").body["items"] == before


def test_watches_resume_across_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    version = space.secrets.create("a")["metadata"]["resourceVersion"]
    space.secrets.label("a", x="1")
    space.secrets.remove("a")
    server.stop()
    server.start()
    with server.client().watch(space.secrets.path, resourceVersion=version) as watch:
        modified, deleted = watch.take(2)
    assert (modified.brief, deleted.brief) == (("MODIFIED", "a"), ("DELETED", "a"))
    assert deleted.object["metadata"]["labels"] == {"x": "1"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_code_0(
    fresh_server: FreshServer, number: signal.Signals
) -> None:
    server = fresh_server()
    server.signal(number)
    assert server.wait(15) == 0


def test_an_idle_connection_does_not_hold_up_the_end(fresh_server: FreshServer) -> None:
    server = fresh_server()
    connections = [server.client().connect() for _ in range(3)]
    for connection in connections:
        connection.connect()
    server.client().get("/readyz")
    server.signal(signal.SIGTERM)
    assert server.wait(10) == 0


def test_watches_end_in_good_order_when_the_server_stops(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    with space.secrets.watch() as watch:
        space.secrets.create("a")
        server.signal(signal.SIGTERM)
        assert [event.brief for event in watch.rest()] == [("ADDED", "a")]
    assert server.wait(15) == 0


def test_readiness_fails_first_while_requests_are_still_served(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--shutdown-delay-duration", "2s")
    space = Space(server, server.client())
    with space.secrets.watch() as watch:
        started = time.monotonic()
        server.signal(signal.SIGTERM)
        eventually(lambda: space.client.get("/readyz").status == 500, "not ready", 1.5)
        answer = space.client.get("/readyz?verbose")
        assert answer.status == 500
        assert "[-]shutdown failed: reason withheld\n" in answer.text
        assert answer.text.endswith("readyz check failed\n")
        assert space.client.get("/readyz/shutdown").status == 500
        assert space.client.get("/readyz?exclude=shutdown").status == 200
        assert space.client.get("/livez").status == 200
        space.secrets.create("a")
        other = space.client.clone()
        assert other.get(space.secrets.path).names == ["a"]
        other.close()
        assert [event.brief for event in watch.rest()] == [("ADDED", "a")]
    assert server.wait(15) == 0
    assert time.monotonic() - started >= 2


def test_the_last_line_of_a_failed_check_is_the_dialects(fresh_server: FreshServer) -> None:
    server = fresh_server("--shutdown-delay-duration", "2s", dialect="cluster")
    client = server.client()
    server.signal(signal.SIGTERM)
    eventually(lambda: client.get("/readyz").status == 500, "not ready", 1.5)
    assert client.get("/readyz?verbose").text.endswith("healthz check failed\n")
    server.wait(15)


def test_a_request_under_way_is_finished(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    body = json.dumps({"metadata": {"name": "late"}}).encode()
    connection = space.client.connect()
    connection.putrequest("POST", space.secrets.path)
    for name, value in space.client.head_of().items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(body)))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    assert b" 100 " in connection.sock.recv(100)
    connection.send(body[:5])
    space.client.close()
    server.signal(signal.SIGTERM)
    eventually(lambda: not _takes_connections(server), "no more connections are taken")
    connection.send(body[5:])
    assert connection.getresponse().status == 201
    connection.close()
    assert server.wait(15) == 0
    server.start()
    assert server.client().get(space.secrets.path).names == ["late"]


def _takes_connections(server: ServerProcess) -> bool:
    probe = server.client().connect()
    try:
        probe.connect()
    except OSError:
        return False
    finally:
        probe.close()
    return True


def test_writes_that_were_answered_before_the_end_are_kept(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    answered = []
    server_is_up = True
    number = 0
    while server_is_up and number < 5000:
        number += 1
        if number == 50:
            server.signal(signal.SIGTERM)
        try:
            answer = space.client.post(space.secrets.path, {"metadata": {"name": f"s{number}"}})
        except (OSError, http.client.HTTPException):
            server_is_up = False
        else:
            assert answer.status == 201
            answered.append(f"s{number}")
    assert server.wait(15) == 0
    server.start()
    kept = set(server.client().get(space.secrets.path).names)
    assert set(answered) <= kept


def test_a_second_server_on_the_same_directory_is_refused(fresh_server: FreshServer) -> None:
    server = fresh_server()
    done = failed_start(server.directory)
    assert done.returncode == 1
    assert "is in use by another server" in done.stderr
    assert str(server.data) in done.stderr
    assert "Traceback" not in done.stderr
    assert server.client().get("/readyz").status == 200


def test_the_directory_is_free_after_a_crash(fresh_server: FreshServer) -> None:
    server = fresh_server()
    server.kill()
    server.start()
    assert server.client().get("/readyz").status == 200


def test_the_liveness_grace_period_can_be_given(fresh_server: FreshServer) -> None:
    client = fresh_server("--livez-grace-period", "5s").client()
    assert client.get("/livez").status == 200
    assert "[+]poststarthook" in client.get("/livez?verbose").text


def test_the_ready_line_tells_where_and_how(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path)
    server.start()
    try:
        assert server.address.startswith("https://127.0.0.1:")
        assert (server.data / "admin.kubeconfig").exists()
    finally:
        server.stop()


def test_a_certificate_of_ones_own_is_served(fresh_server: FreshServer, tmp_path: Path) -> None:
    """Any pair will do: here, that of another server."""
    other = fresh_server()
    pki = other.data / "pki"
    pairs = [path for path in pki.glob("*.crt") if "serv" in path.name]
    assert pairs, sorted(pki.iterdir())
    certificate = pairs[0]
    server = fresh_server(
        "--tls-cert-file", str(certificate), "--tls-private-key-file",
        str(certificate.with_suffix(".key")),
    )  # fmt: skip
    client = Client(server.address, other.ca)
    assert client.get("/readyz").status == 200
    client.close()


def test_a_token_of_one_server_is_nothing_to_another_with_other_tokens(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    tokens = tmp_path / "others.csv"
    tokens.write_text('other-token,root,uid-root,"system:masters"\n')
    server = fresh_server("--token-auth-file", str(tokens))
    assert server.client("other-token").get("/api/v1/namespaces").status == 200
    assert server.client().get("/api/v1/namespaces").status == 401
