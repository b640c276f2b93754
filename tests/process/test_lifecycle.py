"""From start to stop: the ready line, created files, SIGTERM, and a second start."""

from __future__ import annotations

import http.client
import json
import signal
import stat
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import ADMIN_TOKEN, Client
from support.namespaces import Space
from support.pace import in_time
from support.process import ServerProcess, failed_start
from support.waiting import eventually

pytestmark = pytest.mark.usefixtures("new_interpreters")
FreshServer = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("reused"))
    yield server
    server.kill()


@pytest.fixture
def running(reused: ServerProcess) -> ServerProcess:
    """A server that a test may stop, on the data directory of the previous test."""
    if reused.process is None or reused.process.poll() is not None:
        reused.start()
    return reused


def test_everything_it_makes_is_private(server: ServerProcess) -> None:
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    for name in ("admin.kubeconfig", "fairlead.db", "pki/ca.key", "pki/admin.key"):
        assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600, name
    for key in server.data.glob("pki/*.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600, key


def test_the_client_configuration_works_by_itself(server: ServerProcess, tmp_path: Path) -> None:
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


def test_the_authority_and_what_it_signed_outlive_a_restart(running: ServerProcess) -> None:
    ca = running.ca.read_bytes()
    admin = (running.data / "pki" / "admin.crt").read_bytes()
    running.stop()
    running.start()
    assert running.ca.read_bytes() == ca
    assert (running.data / "pki" / "admin.crt").read_bytes() == admin
    assert running.client().get("/readyz").status == 200


def test_a_server_starts_within_a_moment(running: ServerProcess) -> None:
    for _ in range(10):  # other processes may keep the machine busy
        running.stop()
        started = time.monotonic()
        running.start()
        if in_time(time.monotonic() - started, 3.0):
            return
    raise AssertionError("ten starts took more than 3 seconds each")


def test_objects_outlive_a_restart(running: ServerProcess) -> None:
    space = Space(running, running.client())
    config_map = space.config_maps.create("a", labels={"x": "1"}, data={"k": "v"})
    space.secrets.create("gone")
    space.secrets.remove("gone")
    version = space.secrets.version()
    assert running.stop() == 0
    running.start()
    client = running.client()
    assert client.get(space.config_maps.item("a")).body == config_map
    assert client.get(space.secrets.path).names == []
    listed = client.get(space.config_maps.path, labelSelector="x=1")
    assert listed.names == ["a"]
    assert int(listed.version) >= int(version)


def test_a_restart_writes_nothing_again(running: ServerProcess) -> None:
    before = running.client().get("/api/v1/namespaces").body["items"]
    running.stop()
    running.start()
    assert running.client().get("/api/v1/namespaces").body["items"] == before


def test_watches_resume_across_a_restart(running: ServerProcess) -> None:
    space = Space(running, running.client())
    version = space.secrets.create("a")["metadata"]["resourceVersion"]
    space.secrets.label("a", x="1")
    space.secrets.remove("a")
    running.stop()
    running.start()
    with running.client().watch(space.secrets.path, resourceVersion=version) as watch:
        modified, deleted = watch.take(2)
    assert (modified.brief, deleted.brief) == (("MODIFIED", "a"), ("DELETED", "a"))
    assert deleted.object["metadata"]["labels"] == {"x": "1"}


def test_ctrl_c_ends_the_server_with_code_0(running: ServerProcess) -> None:
    running.signal(signal.SIGINT)
    assert running.wait() == 0


def test_an_idle_connection_does_not_hold_up_the_end(running: ServerProcess) -> None:
    connections = [running.client().connect() for _ in range(3)]
    for connection in connections:
        connection.connect()
    running.client().get("/readyz")
    running.signal(signal.SIGTERM)
    assert running.wait(10) == 0


def test_watches_end_in_good_order_when_the_server_stops(running: ServerProcess) -> None:
    space = Space(running, running.client())
    with space.secrets.watch() as watch:
        space.secrets.create("a")
        running.signal(signal.SIGTERM)
        assert [event.brief for event in watch.rest()] == [("ADDED", "a")]
    assert running.wait(15) == 0


def test_readiness_fails_first_while_requests_are_still_served(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--shutdown-delay-duration", "4s")
    space = Space(server, server.client())
    with space.secrets.watch() as watch:
        started = time.monotonic()
        server.signal(signal.SIGTERM)
        eventually(lambda: space.client.get("/readyz").status == 500, "not ready")
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
    assert time.monotonic() - started >= 4


def test_the_last_line_of_a_failed_check_is_the_dialects(fresh_server: FreshServer) -> None:
    server = fresh_server("--shutdown-delay-duration", "1m", dialect="cluster")
    client = server.client()
    server.signal(signal.SIGTERM)
    eventually(lambda: client.get("/readyz").status == 500, "not ready")
    assert client.get("/readyz?verbose").text.endswith("healthz check failed\n")


def test_a_request_under_way_is_finished(running: ServerProcess) -> None:
    space = Space(running, running.client())
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
    running.signal(signal.SIGTERM)
    eventually(lambda: not _takes_connections(running), "no more connections are taken")
    connection.send(body[5:])
    assert connection.getresponse().status == 201
    connection.close()
    assert running.wait(15) == 0
    running.start()
    assert running.client().get(space.secrets.path).names == ["late"]


def _takes_connections(server: ServerProcess) -> bool:
    probe = server.client().connect()
    try:
        probe.connect()
    except OSError:
        return False
    finally:
        probe.close()
    return True


def test_writes_that_were_answered_before_the_end_are_kept(running: ServerProcess) -> None:
    space = Space(running, running.client())
    answered = []
    server_is_up = True
    number = 0
    while server_is_up and number < 5000:
        number += 1
        if number == 50:
            running.signal(signal.SIGTERM)
        try:
            answer = space.client.post(space.secrets.path, {"metadata": {"name": f"s{number}"}})
        except (OSError, http.client.HTTPException):
            server_is_up = False
        else:
            assert answer.status == 201
            answered.append(f"s{number}")
    assert running.wait(15) == 0
    running.start()
    kept = set(running.client().get(space.secrets.path).names)
    assert set(answered) <= kept


def test_a_second_server_on_the_same_directory_is_refused(server: ServerProcess) -> None:
    done = failed_start(server.directory)
    assert done.returncode == 1
    assert "is in use by another server" in done.stderr
    assert str(server.data) in done.stderr
    assert "Traceback" not in done.stderr
    assert server.client().get("/readyz").status == 200


def test_the_directory_is_free_after_a_crash(running: ServerProcess) -> None:
    running.kill()
    running.start()
    assert running.client().get("/readyz").status == 200


def test_the_ready_line_tells_where_and_how(server: ServerProcess) -> None:
    assert server.address.startswith("https://127.0.0.1:")
    assert (server.data / "admin.kubeconfig").exists()


@pytest.fixture(scope="module")
def configured(
    server: ServerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server with the serving certificate of another one and tokens of its own."""
    directory = tmp_path_factory.mktemp("configured")
    tokens = directory / "others.csv"
    tokens.write_text('other-token,root,uid-root,"system:masters"\n')
    certificate, key = (server.data / "pki" / f"serving.{suffix}" for suffix in ("crt", "key"))
    flags = (
        *("--tls-cert-file", str(certificate), "--tls-private-key-file", str(key)),
        *("--token-auth-file", str(tokens), "--livez-grace-period", "5s"),
    )
    running = ServerProcess(directory, flags=flags).start()
    yield running
    running.kill()


def test_the_liveness_grace_period_can_be_given(
    configured: ServerProcess, server: ServerProcess
) -> None:
    client = configured.keep(Client(configured.address, server.ca, "other-token"))
    assert client.get("/livez").status == 200
    assert "[+]poststarthook" in client.get("/livez?verbose").text


def test_a_certificate_of_ones_own_is_served(
    configured: ServerProcess, server: ServerProcess
) -> None:
    client = configured.keep(Client(configured.address, server.ca, "other-token"))
    assert client.get("/readyz").status == 200


def test_a_token_of_one_server_is_nothing_to_another_with_other_tokens(
    configured: ServerProcess, server: ServerProcess
) -> None:
    for token, status in (("other-token", 200), (ADMIN_TOKEN, 401)):
        client = configured.keep(Client(configured.address, server.ca, token))
        assert client.get("/api/v1/namespaces").status == status
