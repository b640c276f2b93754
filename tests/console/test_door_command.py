"""`fairlead console`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.commands import Commands, run_words
from support.console import enter, is_known
from support.namespaces import Space


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def code_in(space: Space, link: str) -> str:
    """The code of a link, which stands where browsers keep it for themselves."""
    address, _, code = link.strip().partition("#code=")
    assert address == f"{space.server.address}/console/"
    assert code
    return code


def test_it_prints_a_link_that_signs_in(fairlead: Commands) -> None:
    space = fairlead.space
    session = enter(space.server.client(None), code_in(space, fairlead("console", "--print")))
    assert session.status == 201
    assert is_known(space.server.client(session.body["token"]))


def test_the_link_is_that_of_the_user_who_is_meant(fairlead: Commands) -> None:
    space = fairlead.space
    for flags, name in (
        (("--as", "bob"), "bob"),
        (("--as", "bob", "--as-group", "dev"), "bob"),
    ):
        code = code_in(space, fairlead("console", "--print", *flags))
        assert enter(space.server.client(None), code).body["user"]["username"] == name


def test_a_token_will_do(space: Space) -> None:
    words = ("--server", space.server.address, "--certificate-authority", str(space.server.ca))
    ran = run_words("console", "--print", *words, "--token", "alice-token")
    assert ran.code == 0, ran.errors
    session = enter(space.server.client(None), code_in(space, ran.out)).body
    assert session["user"]["username"] == "alice"


def test_it_opens_a_browser(
    fairlead_kubernetes: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    ran = fairlead_kubernetes.run("console")
    assert ran.code == 0, ran.errors
    space = fairlead_kubernetes.space
    assert enter(space.server.client(None), code_in(space, opened.read_text())).status == 201
    assert "#code=" not in ran.out + ran.errors


def test_without_a_browser_it_prints_the_link(fairlead_kubernetes: Commands) -> None:
    out = fairlead_kubernetes("console")
    code_in(fairlead_kubernetes.space, out.splitlines()[-1])


def test_it_says_whom_the_browser_has_to_trust(fairlead_kubernetes: Commands) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    ran = fairlead_kubernetes.run("console")
    ca = x509.load_pem_x509_certificate(fairlead_kubernetes.space.server.ca.read_bytes())
    assert ca.fingerprint(SHA256()).hex(":").upper() in ran.errors
    assert "fairlead config view --raw" in ran.errors
    template = "jsonpath={.clusters[0].cluster.certificate-authority-data}"
    assert template in ran.errors
    assert fairlead_kubernetes("config", "view", "--raw", "--minify", "-o", template)


def test_who_is_nobody_gets_no_link(space: Space, tmp_path: Path) -> None:
    words = ("--server", space.server.address, "--certificate-authority", str(space.server.ca))
    ran = run_words("console", "--print", "--kubeconfig", os.devnull, *words)
    assert ran.code == 1
    assert "#code=" not in ran.out
