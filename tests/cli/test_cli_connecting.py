"""The flags of every client command that choose server and user."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.client_configs import cluster_of, configuration, write
from support.commands import Commands, Ran, run_words
from support.namespaces import Space
from support.plugin_programs import Plugin


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def at_server(space: Space, *words: str) -> Ran:
    """A command that finds its server by flags alone."""
    flags = ("--server", space.server.address, "--certificate-authority", str(space.server.ca))
    return run_words("get", "namespaces", *flags, *words)


def test_flags_alone_lead_to_a_server(space: Space) -> None:
    ran = at_server(space, "--token", "admin-token")
    assert (ran.code, ran.errors) == (0, "")
    assert space.name in ran.out


def test_flags_may_stand_in_front_of_the_command(space: Space) -> None:
    address = space.server.address
    words = ("-s", address, "--insecure-skip-tls-verify", "--token=admin-token", "get", "ns")
    assert space.name in run_words(*words).out


def test_a_certificate_of_the_flags_shows_who_we_are(space: Space) -> None:
    pki = space.server.ca.parent
    pair = (str(pki / "admin.crt"), str(pki / "admin.key"))
    ran = at_server(space, "--client-certificate", pair[0], "--client-key", pair[1])
    assert space.name in ran.out


@pytest.mark.parametrize(
    ("flags", "who"),
    [
        (("--token", "alice-token"), "alice"),
        (("--token", "admin-token", "--as", "carol"), "carol"),
        (("--token", "admin-token", "--as", "carol", "--as-group", "a"), "carol"),
    ],
)
def test_the_server_takes_us_for_whom_the_flags_say(
    space: Space, flags: tuple[str, ...], who: str
) -> None:
    ran = at_server(space, *flags)
    assert ran.code == 1
    assert f'Error from server (Forbidden): namespaces is forbidden: User "{who}"' in ran.errors


UID = ("--token", "admin-token", "--as", "carol", "--as-uid", "7")


def test_a_uid_of_the_flags_is_sent_as_the_reference_does(kubernetes: Space) -> None:
    ran = at_server(kubernetes, *UID)
    assert 'namespaces is forbidden: User "carol"' in ran.errors


def test_the_command_line_sets_no_uid_as_specified(cluster: Space) -> None:
    ran = at_server(cluster, *UID)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith("error: unknown flag: --as-uid")


def test_groups_of_the_flags_count(space: Space) -> None:
    flags = ("--token", "admin-token", "--as", "carol", "--as-group", "system:masters")
    assert at_server(space, *flags).code == 0


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--as-group", "g"), "Error in configuration: "),
        (("--as", "a\nb"), "error: the user, group, uid or extra to act as is not a line of text"),
        (("--token", "a\nb"), "error: the token has characters that a header must not have"),
        (("--context", "x"), 'error: context "x" does not exist'),
        (("--kubeconfig", "/none"), "error: stat /none: no such file or directory"),
        (("--client-key", "/none", "--client-certificate", "/no"),
         "Error in configuration: \n* unable to read client-cert /no"),
        (("--request-timeout", "soon"), "error: --request-timeout takes a number of seconds"),
    ],
)  # fmt: skip
def test_flags_that_cannot_be_used_are_told(flags: tuple[str, ...], error: str) -> None:
    ran = run_words("get", "pods", "--server", "https://127.0.0.1:1", *flags)
    assert ran.code == 1
    assert ran.errors.startswith(error)


@pytest.mark.parametrize(
    ("certificate", "key", "message"),
    [
        ("admin.crt", "service-account.key", "cannot be used: key values mismatch"),
        ("admin.crt", "admin.crt", "cannot be used: they are no usable PEM"),
    ],
)
def test_a_certificate_that_cannot_be_shown_is_named(
    space: Space, certificate: str, key: str, message: str
) -> None:
    pki = space.server.ca.parent
    pair = (str(pki / certificate), str(pki / key))
    ran = at_server(space, "--client-certificate", pair[0], "--client-key", pair[1])
    address = space.server.address
    assert ran.errors == f"error: {address}: the client certificate and its key {message}\n"


def test_an_authority_that_is_none_is_named(space: Space, home: Path) -> None:
    (home / "ca.crt").write_text("nothing")
    address = space.server.address
    ran = run_words("get", "ns", "-s", address, "--certificate-authority", str(home / "ca.crt"))
    assert ran.errors == (
        f"error: {address}: the certificate authority holds no usable PEM certificate\n"
    )


def test_a_server_that_does_not_answer_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ran = run_words("get", "pods", "-s", address, "--request-timeout", "200ms")
    assert ran.code == 1
    assert ran.errors == "error: no connection to the server: no answer within 0.2s\n"


@pytest.mark.both_dialects
def test_a_missing_plugin_is_told_as_people_know_it(space: Space, home: Path) -> None:
    plugin = Plugin(home / "bin", space.server.dialect)
    entry = plugin.entry(command="no-such", installHint="get it")
    path = write(home / "config", configuration(cluster_of(space.server), entry))
    ran = run_words("get", "pods", "--kubeconfig", str(path))
    assert ran.code == 1
    message = "error: no connection to the server: getting credentials: exec: executable no-such"
    assert ran.errors.startswith(message)
    assert ran.errors.endswith("\n\nget it\n")


@pytest.mark.both_dialects
def test_a_plugin_can_ask_the_person_at_the_terminal(space: Space, home: Path) -> None:
    plugin = Plugin(home / "bin", space.server.dialect)
    plugin.does('printf "password: " >&2; read word; [ "$word" = sesame ] || exit 1')
    plugin.gives(token="admin-token")
    entry = plugin.entry(interactiveMode="Always")
    path = write(home / "config", configuration(cluster_of(space.server), entry))
    person, terminal = pty.openpty()
    try:
        os.write(person, b"sesame\n")
        command = [sys.executable, "-m", "fairlead", "get", "ns", "--kubeconfig", str(path)]
        ran = subprocess.run(
            command, stdin=terminal, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(person)
        os.close(terminal)
    assert (ran.returncode, ran.stderr) == (0, "password: ")
    assert space.name in ran.stdout


def test_the_configuration_of_the_server_is_enough(fairlead: Commands) -> None:
    assert fairlead.space.name in fairlead("get", "namespaces")
