"""The config commands: their output, and what they write to which file."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.client_configs import configuration, write
from support.commands import Ran, run_words
from support.kubectl import KUBECTL, compared


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without configuration, where the command is run."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> Ran:
    return run_words("config", *shlex.split(line))


def config(line: str) -> str:
    ran = run(line)
    assert ran.code == 0, ran.errors
    return ran.out


def fails(line: str) -> str:
    ran = run(line)
    assert ran.code == 1
    return ran.errors.rstrip("\n")


def parsed_file(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.fixture
def file(home: Path) -> Path:
    return home / ".kube" / "config"


# The same files as kubectl's.

STEPS = """
view
view -o json
get-contexts
get-clusters
get-users
current-context
set-cluster a --server https://a --tls-server-name n
set-cluster b --certificate-authority ca --proxy-url http://p
set-cluster b --insecure-skip-tls-verify --server https://b
set-cluster d --certificate-authority ca --embed-certs
set-cluster a --certificate-authority ca --insecure-skip-tls-verify
set-cluster a --embed-certs
set-credentials u --token t
set-credentials u --username n --password y
set-credentials p --client-certificate ca --client-key ca --embed-certs --token zz
set-credentials u --token t --username n
set-credentials u --embed-certs
set-credentials e --exec-command x --exec-api-version q/v1 --exec-arg 1 --exec-env A=b
set-credentials e --exec-env A- --exec-env C=d
set-credentials o --auth-provider oidc --auth-provider-arg client-id=i --auth-provider-arg x=y
set-credentials o --auth-provider-arg x-
set-context c --cluster a --user u --namespace n
set-context c --user p
set-context
set-context --current
set-context c --current
use-context none
use-context c
set-context --current --namespace other
get-contexts
get-contexts -o name
get-contexts c none --no-headers
view -o json
view --raw
view --minify --flatten
view --merge=false
rename-context c e
rename-context none f
rename-context e e
current-context
set users.x.y.token abc
set clusters.d.insecure-skip-tls-verify true
set clusters.d.insecure-skip-tls-verify perhaps
set clusters.d.certificate-authority-data hm --set-raw-bytes
set no.such.thing 1
set preferences.colors true
unset users.x.y
unset users.x.y
unset contexts.e.namespace
delete-user o
delete-user none
delete-cluster d
delete-cluster none
delete-context none
delete-context e
get-contexts none
view
view --minify
"""


@compared
def test_every_step_is_written_as_kubectl_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in STEPS.strip().splitlines():
        theirs, ours = tmp_path / "kubectl", tmp_path / "fairlead"
        for folder in (theirs, ours):
            folder.mkdir(exist_ok=True)
            (folder / "ca").write_text("content")
        their = subprocess.run(
            [str(KUBECTL), "config", *shlex.split(line)],
            env={**os.environ, "HOME": str(theirs)},
            cwd=theirs,
            capture_output=True,
            text=True,
            check=False,
        )
        monkeypatch.setenv("HOME", str(ours))
        monkeypatch.chdir(ours)
        our = run(line)
        assert our.out.replace("fairlead", "kubectl") == their.stdout, line
        assert our.code == their.returncode, line
        if (theirs / ".kube" / "config").exists():
            text = (ours / ".kube" / "config").read_text().replace("fairlead", "kubectl")
            assert yaml.safe_load(text) == parsed_file(theirs / ".kube" / "config"), line


# Where things are written.


def test_a_new_file_is_for_its_owner_alone_and_leaves_nothing_beside_it(file: Path) -> None:
    config("set-cluster a --server https://a")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["config"]


def test_a_file_that_is_named_is_made(home: Path, file: Path) -> None:
    config(f"set-context c --user u --kubeconfig {home}/deep/one")
    assert parsed_file(home / "deep" / "one")["contexts"][0]["name"] == "c"
    assert not file.exists()


def test_an_entry_is_changed_in_the_file_it_is_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = configuration()
    first = write(home / "1", {"clusters": value["clusters"]})
    second = write(home / "2", {"users": value["users"], "contexts": value["contexts"]})
    monkeypatch.setenv("KUBECONFIG", f"{home}/gone{os.pathsep}{first}{os.pathsep}{second}")
    config("set-credentials me --token t")
    config("set-cluster place --server https://else")
    config("set-context new --cluster place")
    config("use-context here")
    config("rename-context here there")
    assert parsed_file(second) == {
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "there", "context": {"cluster": "place", "user": "me"}}],
    }
    assert parsed_file(first)["clusters"][0]["cluster"]["server"] == "https://else"
    assert parsed_file(first)["contexts"] == [
        {"name": "new", "context": {"cluster": "place", "user": ""}}
    ]
    assert parsed_file(first)["current-context"] == "there"
    assert not (home / "gone").exists()
    config("unset current-context")
    assert parsed_file(first)["current-context"] == ""


def test_what_nobody_knows_stays_in_the_file_and_json_stays_json(file: Path) -> None:
    write(file, {**configuration({"server": "https://a", "odd": [1]}), "more": {"x": None}})
    config("set-cluster place --tls-server-name n")
    value = json.loads(file.read_text())
    assert value["more"] == {"x": None}
    assert value["clusters"][0]["cluster"] == {
        "server": "https://a", "odd": [1], "tls-server-name": "n"
    }  # fmt: skip


def test_texts_that_look_like_others_are_read_back_as_they_were(file: Path) -> None:
    for word in ("y", "No", "007", "1e3", "0o7", "1.", "null", "~", "2020-01-01", "a: b", "ä"):
        config(f"set-credentials me --token '{word}'")
        content = config("view --raw -o jsonpath='{.users[0].user.token}'")
        assert content == word
        if KUBECTL:
            read = subprocess.run(
                [KUBECTL, "config", "view", "--raw", "-o", "jsonpath={.users[0].user.token}"],
                capture_output=True,
                text=True,
                check=True,
            )
            assert read.stdout == word


def test_two_at_once_lose_nothing(home: Path, file: Path) -> None:
    words = ("config", "set-cluster")
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words, f"c{number}", "--server", "x:1"],
            stdout=subprocess.DEVNULL,
        )
        for number in range(3)
    ]
    assert [item.wait() for item in running] == [0] * 3
    assert [cluster["name"] for cluster in parsed_file(file)["clusters"]] == ["c0", "c1", "c2"]


def test_a_file_that_cannot_be_read_is_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("clusters: [")
    text = f"error: {file} is not a client configuration: yaml: line 1: did not find expected node"
    assert fails("use-context x").startswith(text)
    assert fails("set-cluster x --server y").startswith(text)
    assert file.read_text() == "clusters: ["


def test_a_directory_that_cannot_be_written_is_told(home: Path) -> None:
    (home / ".kube").write_text("a file")
    assert fails("set-cluster x --server y").startswith("error: open ")


# What is shown.


def test_secrets_are_not_shown_unless_asked_for(file: Path) -> None:
    data = b64encode(b"x").decode()
    user = {
        "token": "secret", "client-key-data": data, "client-certificate-data": data,
        "auth-provider": {"name": "oidc", "config": {"refresh-token": "secret", "client-id": "i",
                                                     "id-token": "secret"}},
    }  # fmt: skip
    write(file, configuration({"server": "s", "certificate-authority-data": data}, user))
    text = config("view")
    assert "secret" not in text
    assert data not in text
    assert "client-id: i" in text
    assert config("view --raw").count("secret") == 3


def test_files_can_be_shown_as_one(home: Path, file: Path) -> None:
    (file.parent / "pki").mkdir(parents=True)
    (file.parent / "pki" / "ca").write_text("CA")
    write(file, configuration({"server": "s", "certificate-authority": "pki/ca"}))
    cluster = yaml.safe_load(config("view --flatten"))["clusters"][0]["cluster"]
    assert cluster == {"server": "s", "certificate-authority-data": b64encode(b"CA").decode()}
    (file.parent / "pki" / "ca").unlink()
    assert fails("view --flatten").startswith("error: cannot read ")


def test_names_with_control_characters_do_not_reach_the_terminal_raw(file: Path) -> None:
    value = configuration()
    value["contexts"][0]["name"] = value["current-context"] = "x\x1b[2J"
    write(file, value)
    for line in ("get-contexts", "get-contexts -o name", "current-context"):
        assert "\x1b" not in config(line)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("use-context", "error: this takes one name, not nothing"),
        ("use-context a b", "error: this takes one name, not a b"),
        ("set-cluster", "error: this takes one name, not nothing"),
        ("set a", "error: this takes a property and its value, not a"),
        ("rename-context a", "error: this takes the old and the new name, not a"),
        ("set-credentials u --exec-command x --exec-env A", "error: invalid argument 'A' for"),
        ("get-contexts -o wide", 'error: output must be one of "" or "name"'),
        ("view -o odd", "error: -o odd is"),
        ("view --kubeconfig /proc/1/mem", "error: /proc/1/mem is not a client configuration"),
        ("set-cluster x --embed-certs --certificate-authority /none", "error: could not read"),
        ("set clusters.x 1", "error: it has fields of its own"),
        ("set clusters.x.certificate-authority-data %%", "error: error decoding input value"),
        ("bogus", 'error: unknown command "bogus" for "fairlead config"'),
    ],
)
def test_what_is_not_understood_is_told(line: str, error: str) -> None:
    assert fails(line).startswith(error)
