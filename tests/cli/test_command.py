"""The command `fairlead`: help and version."""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.fork_server import run_forked

from fairlead import __version__
from fairlead.base.compiled import is_compiled
from fairlead.cli.parser import Parser
from fairlead.process.flags.checks import planned_flags
from fairlead.process.flags.serve import add_serve_flags

KIND = "compiled" if is_compiled() else "plain"
SPECIFIED = """
    --livez-grace-period --runtime-config --shutdown-delay-duration --anonymous-auth
    --authentication-token-webhook-cache-ttl --authentication-token-webhook-config-file
    --authentication-token-webhook-version --client-ca-file --cluster-signing-duration
    --controllers --enable-bootstrap-token-auth --oidc-ca-file --oidc-client-id
    --oidc-groups-claim --oidc-groups-prefix --oidc-issuer-url --oidc-required-claim
    --oidc-username-claim --oidc-username-prefix --requestheader-allowed-names
    --requestheader-client-ca-file --requestheader-extra-headers-prefix
    --requestheader-group-headers --requestheader-username-headers --service-account-key-file
    --service-account-lookup --tls-private-key-file --token-auth-file
    --admission-control-config-file --enable-admission-plugins
"""


def test_it_tells_its_version() -> None:
    command = [sys.executable, "-m", "fairlead", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, f"fairlead {__version__}\n")


def test_help_lists_the_flags() -> None:
    done = run_forked("serve", "--help")
    assert done.returncode == 0
    for flag in (
        "--dialect",
        "--data-dir",
        "--secure-port",
        "--runtime-config",
        "--feature-gates",
        "--token-auth-file",
        "--livez-grace-period",
        "--shutdown-delay-duration",
        "--max-requests-inflight",
        "--max-mutating-requests-inflight",
        "--etcd-compaction-interval",
    ):
        assert flag in done.stdout


def test_help_comes_in_groups_and_with_defaults() -> None:
    output = run_forked("serve", "--help").stdout
    for group in ("Serving:", "Storage:", "API:", "Admission:", "Authentication:"):
        assert f"\n{group}\n" in output
    assert "(default 6443)" in output
    assert "(default 300s)" in output


def test_help_does_not_list_what_has_no_effect() -> None:
    output = run_forked("serve", "--help").stdout
    assert "--etcd-count-metric-poll-period" not in output


@pytest.mark.parametrize("arguments", [(), ("help",), ("--help",), ("-h",)])
def test_alone_or_asked_for_help_it_shows_its_commands(arguments: tuple[str, ...]) -> None:
    done = run_forked(*arguments)
    assert done.returncode == 0
    assert "run a server" in done.stdout


def test_every_switch_of_a_server_takes_a_value() -> None:
    parser = Parser(prog="fairlead serve")
    add_serve_flags(parser)
    switches = [action for action in parser._actions if isinstance(action.default, bool)]
    assert len(switches) > 10
    for switch in switches:
        for value in (True, False):
            given = parser.parse_args([f"{switch.option_strings[0]}={str(value).lower()}"])
            assert getattr(given, switch.dest) is value


def test_version_is_a_command() -> None:
    assert run_forked("version", "--client").stdout == f"fairlead {__version__} ({KIND})\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-such-command",), "no-such-command"),
        (("serve", "--secure"), "unknown flag --secure, did you mean --secure-port?"),
        (("serve", "x"), "unexpected argument 'x'"),
        (("serve", "--secure-port", "70000"), "--secure-port: 70000 is not a port"),
        (("serve", "--secure-port", "9" * 5000), "--secure-port"),
        (("serve", "--bind-address", "999.1.1.1"), "--bind-address: '999.1.1.1' is not an IP"),
        (("serve", "--data-dir", ""), "--data-dir: the name of a directory is needed"),
        (("serve", "--dialect", "other"), "--dialect: invalid choice: 'other'"),
        (("serve", "--enable-admission-plugins", "Foo"), 'unknown plugin "Foo"'),
        (("serve", "--feature-gates", "Foo=true"), "--feature-gates: unrecognized"),
        (("serve", "--runtime-config", "foo/v1=true"), "--runtime-config: unknown"),
        (("serve", "--controllers=foo"), 'unknown controller "foo"'),
        (("serve", "--service-node-port-range", "a-b"), "--service-node-port-range: 'a-b'"),
        (("serve", "--service-cluster-ip-range", "x"), "--service-cluster-ip-range"),
        (("serve", "--anonymous-auth=maybe"), "--anonymous-auth: 'maybe'"),
        (("serve", "--authorization-mode=Foo"), '"Foo" is not a valid mode'),
        (("serve", "--authorization-mode=ABAC"), "policy file not passed"),
        (("serve", "--etcd-compaction-interval=x"), "--etcd-compaction-interval: 'x'"),
        (("serve", "--advertised-version=latest"), "--advertised-version: 'latest'"),
        (("serve", "--tls-cert-file", "x"), "--tls-private-key-file go together"),
        (("serve", "--storage", "etcd"), "--etcd-servers must be specified"),
        (("serve", "--etcd-servers", "http://127.0.0.1:2379"), "--etcd-servers needs --storage"),
        (("serve", "--etcd-servers", "http://x/y"), "--etcd-servers: 'http://x/y' is not an addr"),
        (("serve", "--etcd-certfile", "x"), "--etcd-certfile and --etcd-keyfile go together"),
        (
            ("serve", "--etcd-servers-overrides=/events"),
            "--etcd-servers-overrides invalid, must be of format: group/resource#servers",
        ),
        (
            ("serve", "--etcd-servers-overrides=/events#http://x"),
            "--etcd-servers-overrides: 'http://x' is not an addr",
        ),
        (
            ("serve", "--etcd-servers-overrides=/events#http://x:1,/events#http://x:2"),
            "--etcd-servers-overrides: /events is there twice",
        ),
        (
            ("serve", "--etcd-servers-overrides=/events#http://x:1"),
            "--etcd-servers-overrides needs --storage=etcd",
        ),
        (
            (
                *("serve", "--storage=etcd", "--etcd-servers=http://x:1", "--workers=2"),
                "--etcd-servers-overrides=/events#http://x:2",
            ),
            "--etcd-servers-overrides and --workers do not go together",
        ),
        (("check", "--etcd-servers-overrides=/events#http://x:1"), "--etcd-servers-overrides"),
        (("serve", "--etcd-healthcheck-timeout=0"), "--etcd-healthcheck-timeout: must be more"),
        (("serve", "-v=x"), "-v/--v: 'x' is not a whole number"),
    ],
)
def test_what_it_does_not_understand_is_told_in_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run_forked(*arguments, directory=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())  # nothing was made before the flags were read


def file(directory: Path, content: bytes) -> str:
    path = directory / "file"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    "flag",
    [
        "--token-auth-file",
        "--client-ca-file",
        "--service-account-key-file",
        "--service-account-signing-key-file",
        "--authentication-token-webhook-config-file",
    ],
)
@pytest.mark.parametrize("content", [None, b"", b"\xff\x00 nothing"], ids=["none", "empty", "odd"])
def test_files_that_are_not_what_a_flag_needs_are_told_in_one_line(
    flag: str, content: bytes | None, tmp_path: Path
) -> None:
    path = "/no/such/file" if content is None else file(tmp_path, content)
    if flag == "--token-auth-file" and content == b"":
        pytest.skip("no tokens are as good as any")
    done = run_forked("serve", "--secure-port=0", f"--data-dir={tmp_path / 'd'}", flag, path)
    assert done.returncode == 1
    assert path in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_data_directory_that_is_a_file_is_told_in_one_line(tmp_path: Path) -> None:
    path = file(tmp_path, b"")
    done = run_forked("serve", "--secure-port=0", "--data-dir", path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert path in done.stderr


def test_an_address_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = run_forked("serve", f"--secure-port={port}", f"--data-dir={tmp_path / 'd'}")
    assert done.returncode == 1
    assert done.stderr == f"fairlead: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def failing_start(directory: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """A start that fails in a way that nobody foresaw."""
    program = (
        "import sys, fairlead.process.lifecycle as s; s.banner = None\n"
        "from fairlead.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "serve", "--secure-port=0", *flags]
    return subprocess.run(
        [*command, f"--data-dir={directory}"], capture_output=True, text=True, check=False
    )


def test_what_nobody_foresaw_is_told_in_one_line_too(tmp_path: Path) -> None:
    done = failing_start(tmp_path / "d")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "not callable" in done.stderr


def test_the_traceback_is_there_for_those_who_ask(tmp_path: Path) -> None:
    done = failing_start(tmp_path / "d", "-v")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def options(*flags: str) -> argparse.Namespace:
    parser = Parser(prog="serve")
    add_serve_flags(parser)
    return parser.parse_args(flags)


@pytest.mark.parametrize(
    ("flags", "level"), [((), 0), (("-v",), 1), (("-v=3",), 3), (("--v=2",), 2), (("-v", "4"), 4)]
)
def test_verbosity_is_given_as_clients_are_used_to(flags: tuple[str, ...], level: int) -> None:
    assert options(*flags).verbosity == level


@pytest.mark.parametrize(
    "flag",
    [
        "--etcd-count-metric-poll-period=1m",
        "--controllers=*,route",
    ],
)
def test_flags_of_the_specification_without_effect_are_taken_and_named(flag: str) -> None:
    assert len(planned_flags(options(flag))) == 1
    assert planned_flags(options()) == []


def test_every_flag_of_the_specification_is_taken() -> None:
    parser = Parser(prog="serve")
    add_serve_flags(parser)
    for flag in SPECIFIED.split():
        assert flag in parser._option_string_actions
