"""Credential plugins: how they run, valid answers, and caching."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.client_configs import cluster_of, configuration, seen_as, seen_by, write
from support.namespaces import Space
from support.plugin_programs import Doorway, Plugin, client_certificate, doorway
from support.waiting import comes_true

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.client import Access, AccessError, Client
from fairlead.client.access import renewal
from fairlead.client.access.loader import load_access
from fairlead.client.access.model import Proof
from fairlead.client.errors import Unauthorized

PAST, FUTURE = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00"


@pytest.fixture
def plugin(space: Space, tmp_path: Path) -> Plugin:
    """One that speaks as the server's dialect does."""
    return Plugin(tmp_path / "bin", space.server.dialect)


@pytest.fixture
def alone(tmp_path: Path) -> Plugin:
    """One for which no server is needed."""
    return Plugin(tmp_path / "bin", CLUSTER)


def access_with(plugin: Plugin, cluster: dict[str, Any] | None = None, **settings: Any) -> Access:
    taken = settings.pop("stdin_taken", "")
    path = plugin.folder.parent / "config"
    value = configuration(cluster, plugin.entry(**settings))
    return load_access(write(path, value), stdin_taken=taken)


def proof_of(access: Access) -> Proof:
    return asyncio.run(access.credentials.proof())


def refusal(plugin: Plugin, **settings: Any) -> str:
    with pytest.raises(AccessError) as raised:
        proof_of(access_with(plugin, **settings))
    return str(raised.value).removeprefix("getting credentials: ")


# What a plugin gives.


def test_the_token_of_a_plugin_is_shown(space: Space, plugin: Plugin) -> None:
    plugin.gives(token="alice-token")
    assert seen_as(access_with(plugin, cluster_of(space.server))) == "alice"


def test_the_certificate_of_a_plugin_is_shown(space: Space, plugin: Plugin) -> None:
    plugin.gives(**client_certificate(space.server, "dora"))
    assert seen_as(access_with(plugin, cluster_of(space.server))) == "dora"


def test_a_token_and_a_certificate_may_come_together(space: Space, plugin: Plugin) -> None:
    pair = client_certificate(space.server, "dora")
    plugin.gives(token="alice-token", **pair)
    access = access_with(plugin, cluster_of(space.server))
    proof = proof_of(access)
    assert proof.authorization == "Bearer alice-token"
    assert proof.certificate == pair["clientCertificateData"].encode()
    assert seen_as(access) in ("alice", "dora")
    assert plugin.runs == 1


def test_a_certificate_of_the_entry_goes_with_the_token_of_a_plugin(
    space: Space, plugin: Plugin
) -> None:
    pair = client_certificate(space.server, "dora")
    plugin.gives(token="alice-token")
    user = {
        "client-certificate-data": b64encode(pair["clientCertificateData"].encode()).decode(),
        "client-key-data": b64encode(pair["clientKeyData"].encode()).decode(),
        **plugin.entry(),
    }
    path = write(plugin.folder / "config", configuration(cluster_of(space.server), user))
    proof = proof_of(load_access(path))
    assert proof.authorization == "Bearer alice-token"
    assert proof.certificate == pair["clientCertificateData"].encode()


def test_a_plugin_may_print_yaml(alone: Plugin) -> None:
    alone.prints(f"apiVersion: {alone.api_version}\nkind: ExecCredential\nstatus: {{token: t}}\n")
    assert proof_of(access_with(alone)).authorization == "Bearer t"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "decoding stdout: Object 'kind' is missing"),
        ("hello", "the output of the credential plugin is not a JSON object"),
        ('{"kind": ', "is not JSON"),
        ({"kind": ""}, "decoding stdout: Object 'kind' is missing"),
        ({"kind": "Pod"}, 'is not an ExecCredential: "Pod" of'),
        ({"kind": "\x1b[31mred"}, 'is not an ExecCredential: "^[[31mred"'),
        ({"apiVersion": "client.authentication.cluster.io/v1beta1"},
         "answered in client.authentication.cluster.io/v1beta1, the client configuration says"
         " client.authentication.cluster.io/v1"),
        ({"apiVersion": "client.authentication.k8s.io/v1"}, "answered in client.auth"),
        ({"status": None}, "the credential plugin gave no status"),
        ({"status": 7}, "decoding stdout: status is not an object"),
        ({"status": {}}, "the credential plugin gave neither a token nor a certificate"),
        ({"status": {"token": 7}}, "decoding stdout: status.token must be text"),
        ({"status": {"token": "a\nb"}}, "characters that a header must not have"),
        ({"status": {"clientKeyData": "k"}}, "a certificate without its key, or a key alone"),
        ({"status": {"token": "t", "clientCertificateData": "c"}}, "a certificate without its key"),
        ({"status": {"clientCertificateData": "c", "clientKeyData": "k"}},
         "gave no usable certificate and key"),
        ({"status": {"token": "t", "expirationTimestamp": "soon"}}, 'parsing time "soon"'),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_told(alone: Plugin, answer: Any, message: str) -> None:
    right = {"apiVersion": alone.api_version, "kind": "ExecCredential", "status": {"token": "t"}}
    alone.prints(answer if isinstance(answer, str) else json.dumps({**right, **answer}))
    assert message in refusal(alone)


# How it is run.


def test_a_plugin_is_told_what_is_asked_of_it(space: Space, plugin: Plugin) -> None:
    plugin.gives(token="t")
    proof_of(access_with(plugin, args=["one", "two three"], env=[{"name": "A", "value": "b=c"}]))
    assert plugin.credential == {
        "apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": {"interactive": False}
    }  # fmt: skip
    assert plugin.recorded("arguments") == "one two three"
    assert plugin.environment["A"] == "b=c"
    assert plugin.environment["PATH"] == os.environ["PATH"]


def test_a_plugin_is_told_about_the_cluster_if_it_wants(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "bin", KUBERNETES, "v1beta1")
    plugin.gives(token="t")
    (tmp_path / "ca").write_text("CA")
    cluster = {
        "server": "https://place:1", "certificate-authority": "ca", "tls-server-name": "n",
        "proxy-url": "http://p",
        "extensions": [{"name": "other", "extension": 1},
                       {"name": f"{plugin.group}/exec", "extension": {"audience": "x", "1": [2]}}],
    }  # fmt: skip
    proof_of(access_with(plugin, cluster, provideClusterInfo=True))
    assert plugin.credential["spec"]["cluster"] == {
        "server": "https://place:1", "certificate-authority-data": "Q0E=", "tls-server-name": "n",
        "proxy-url": "http://p", "config": {"audience": "x", "1": [2]},
    }  # fmt: skip
    insecure = {"server": "https://place:1", "insecure-skip-tls-verify": True}
    proof_of(access_with(plugin, insecure, provideClusterInfo=True))
    assert plugin.credential["spec"]["cluster"] == insecure


def test_a_command_with_a_path_starts_at_the_configuration_file(alone: Plugin) -> None:
    alone.gives(token="t")
    proof_of(access_with(alone, command="bin/plugin"))
    assert alone.runs == 1


def test_a_bare_command_is_looked_for_in_the_path(
    alone: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone.gives(token="t")
    monkeypatch.setenv("PATH", f"{alone.folder}:{os.environ['PATH']}")
    proof_of(access_with(alone, command="plugin"))
    assert alone.runs == 1


def test_a_missing_plugin_is_told_with_the_hint_how_to_install_it(alone: Plugin) -> None:
    assert refusal(alone, command="no-such-plugin") == "exec: executable no-such-plugin not found"
    error = refusal(alone, command="no-such-plugin", installHint="get it\x1b[2J\nhere")
    assert error.startswith("exec: executable no-such-plugin not found\n\n")
    assert error.endswith("\n\nget it^[[2J\nhere")


def test_a_plugin_that_fails_is_told_by_its_exit_code(alone: Plugin) -> None:
    alone.gives(token="t")
    alone.ends_with(3)
    assert refusal(alone) == f"the credential plugin {alone.command} ended with exit code 3"
    alone.does("kill -9 $$")
    assert refusal(alone) == f"the credential plugin {alone.command} ended with exit code -1"


def test_a_file_that_is_no_program_is_told(alone: Plugin) -> None:
    alone.command.write_bytes(b"\x7fELF")
    assert refusal(alone).startswith(f"exec: fork/exec {alone.command}: exec format error")


def test_a_failure_is_not_kept(alone: Plugin) -> None:
    alone.gives(token="t")
    alone.ends_with(1)
    refusal(alone)
    alone.ends_with(0)
    assert proof_of(access_with(alone)).authorization == "Bearer t"


# Standard input.


def test_a_plugin_that_needs_input_does_not_run_without_a_terminal(alone: Plugin) -> None:
    alone.gives(token="t")
    program = (
        "import asyncio, sys; from fairlead.client.access.loader import load_access;"
        "asyncio.run(load_access(sys.argv[1]).credentials.proof())"
    )
    write(
        alone.folder.parent / "config", configuration(None, alone.entry(interactiveMode="Always"))
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, alone.folder.parent / "config"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    message = "the credential plugin wants to ask something, and standard input is not a terminal"
    assert message in ran.stderr
    assert alone.runs == 0


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A terminal as the standard input of this process, and what a person types there."""
    person, screen = pty.openpty()
    before = os.dup(0)
    os.dup2(screen, 0)
    yield lambda text: os.write(person, text.encode())
    os.dup2(before, 0)
    for descriptor in (person, screen, before):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("mode", "interactive"), [("Never", False), ("IfAvailable", True), ("Always", True)]
)
def test_input_is_passed_on_where_a_plugin_may_have_it(
    alone: Plugin, terminal: Callable[[str], int], mode: str, interactive: bool
) -> None:
    alone.gives(token="t")
    proof_of(access_with(alone, interactiveMode=mode))
    assert alone.credential["spec"]["interactive"] is interactive
    assert alone.recorded("input") == ("terminal" if interactive else "")


def test_a_person_can_answer_a_plugin(alone: Plugin, terminal: Callable[[str], int]) -> None:
    alone.gives(token="t")
    alone.does('read word; echo "$word" > word')
    terminal("sesame\n")
    proof_of(access_with(alone, interactiveMode="IfAvailable"))
    assert alone.recorded("word") == "sesame"


def test_input_that_somebody_else_reads_is_not_there_for_plugins(
    alone: Plugin, terminal: Callable[[str], int]
) -> None:
    alone.gives(token="t")
    taken = "used by another"
    error = refusal(alone, interactiveMode="Always", stdin_taken=taken)
    assert error == (
        "the credential plugin wants to ask something, and standard input is unavailable: used by"
        " another"
    )
    proof_of(access_with(alone, interactiveMode="IfAvailable", stdin_taken=taken))
    assert alone.credential["spec"]["interactive"] is False


def test_the_mode_may_be_left_out_in_the_beta_version(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "bin", CLUSTER, "v1beta1")
    plugin.gives(token="t")
    assert proof_of(access_with(plugin, interactiveMode="")).authorization == "Bearer t"


def test_what_a_plugin_says_on_the_error_output_reaches_the_person(
    space: Space, plugin: Plugin
) -> None:
    plugin.gives(token="admin-token")
    plugin.does("echo open the browser >&2")
    value = configuration(cluster_of(space.server), plugin.entry())
    path = write(plugin.folder.parent / "config", value)
    ran = subprocess.run(
        [sys.executable, "-m", "fairlead", "get", "namespaces", "--kubeconfig", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "open the browser\n")
    assert plugin.runs == 1


# How long it holds.


def test_a_plugin_runs_once_for_all_who_ask(space: Space, plugin: Plugin) -> None:
    plugin.gives(token="alice-token")
    plugin.does("sleep 0.2")

    async def ask() -> list[str]:
        cluster = cluster_of(space.server)
        clients = [Client(access_with(plugin, cluster)) for _ in range(3)]
        try:
            return await asyncio.gather(*(seen_by(client) for client in clients * 5))
        finally:
            for client in clients:
                await client.close()

    assert set(asyncio.run(ask())) == {"alice"}
    assert asyncio.run(ask())  # on another loop, with other clients
    assert plugin.runs == 1


def test_another_configuration_is_another_run(alone: Plugin) -> None:
    alone.gives(token="t")
    for args in (["a"], ["b"], ["a"]):
        proof_of(access_with(alone, args=args))
    assert alone.runs == 2


def test_who_gives_up_waiting_does_not_stop_the_plugin_for_others(alone: Plugin) -> None:
    alone.gives(token="t")
    alone.does("while [ ! -e go ]; do sleep 0.02; done")
    access = access_with(alone)

    async def ask() -> str:
        first = asyncio.create_task(access.credentials.proof())
        second = asyncio.create_task(access.credentials.proof())
        await comes_true(lambda: alone.runs == 1, "the plugin runs")
        first.cancel()
        (alone.folder / "go").touch()
        return (await second).authorization

    assert asyncio.run(ask()) == "Bearer t"
    assert alone.runs == 1


def test_an_expired_credential_is_fetched_again(alone: Plugin) -> None:
    alone.gives(token="t", expirationTimestamp=PAST)
    access = access_with(alone)
    proof_of(access)
    proof_of(access)
    assert alone.runs == 2


def test_a_credential_is_kept_until_it_expires(
    alone: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 32472140400.0 - 1  # FUTURE
    alone.gives(token="one", expirationTimestamp=FUTURE)
    clock = [now]
    monkeypatch.setattr(renewal, "time", lambda: clock[0])
    access = access_with(alone)
    assert proof_of(access).authorization == "Bearer one"
    alone.gives(token="two")
    assert proof_of(access).authorization == "Bearer one"
    clock[0] += 1
    assert proof_of(access).authorization == "Bearer two"
    clock[0] += 1e9
    assert proof_of(access).authorization == "Bearer two"
    assert alone.runs == 2


def test_a_refused_credential_is_fetched_again_and_the_request_repeated(
    space: Space, plugin: Plugin
) -> None:
    access = access_with(plugin, cluster_of(space.server))
    plugin.gives(token="stale")
    with pytest.raises(Unauthorized):
        seen_as(access)
    assert plugin.runs == 2
    plugin.gives(token="alice-token")
    assert seen_as(access) == "alice"
    assert plugin.runs == 3
    assert seen_as(access) == "alice"
    assert plugin.runs == 3


def test_many_refused_requests_are_one_more_run(space: Space, plugin: Plugin) -> None:
    access = access_with(plugin, cluster_of(space.server))
    plugin.gives(token="stale")
    proof_of(access)

    async def ask() -> list[Any]:
        async with Client(access) as client:
            return await asyncio.gather(
                *(seen_by(client) for _ in range(20)), return_exceptions=True
            )

    assert all(isinstance(item, Unauthorized) for item in asyncio.run(ask()))
    assert plugin.runs == 2


# Connections.


def test_another_certificate_makes_another_handshake(space: Space, plugin: Plugin) -> None:
    async def ask() -> None:
        async with doorway(space.server) as door:
            access = access_with(plugin, cluster_of(space.server, server=door.address))
            async with Client(access) as client:
                await use(client, door)

    async def use(client: Client, door: Doorway) -> None:
        credentials = client.access.credentials
        plugin.gives(**client_certificate(space.server, "dora"))
        assert await seen_by(client) == "dora"
        assert await seen_by(client) == "dora"
        assert (plugin.runs, door.connections) == (1, 1)
        # The same certificate again is no reason.
        assert credentials.refused(await credentials.proof())
        assert await seen_by(client) == "dora"
        assert (plugin.runs, door.connections) == (2, 1)
        plugin.gives(**client_certificate(space.server, "emil"))
        assert credentials.refused(await credentials.proof())
        assert await seen_by(client) == "emil"
        assert (plugin.runs, door.connections) == (3, 2)

    asyncio.run(ask())


def test_another_token_needs_no_other_handshake(space: Space, plugin: Plugin) -> None:
    plugin.gives(token="alice-token", expirationTimestamp=PAST)

    async def ask() -> None:
        async with doorway(space.server) as door:
            access = access_with(plugin, cluster_of(space.server, server=door.address))
            async with Client(access) as client:
                assert await seen_by(client) == "alice"
                assert await seen_by(client) == "alice"
                assert (plugin.runs, door.connections) == (2, 1)

    asyncio.run(ask())
