"""The OIDC auth provider: id tokens that are refreshed and written back."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.client_configs import cluster_of, configuration, seen_as, write
from support.identity_provider import CLIENT, IdentityProvider

from fairlead.client import Access, AccessError
from fairlead.client.access.editor import change_file
from fairlead.client.access.loader import load_access

if TYPE_CHECKING:
    from support.process import FreshServer


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(tmp_path / "provider")
    yield provider
    provider.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def access_with(file: Path, user: dict[str, Any], **more: Any) -> Access:
    return load_access(write(file, {**configuration(user=user), **more}))


def token_of(access: Access) -> str:
    return asyncio.run(access.credentials.proof()).authorization.removeprefix("Bearer ")


def refusal(access: Access) -> str:
    with pytest.raises(AccessError) as raised:
        token_of(access)
    return str(raised.value)


def written(file: Path) -> dict[str, str]:
    """The settings of the user in the file."""
    value = yaml.safe_load(file.read_text())
    config: dict[str, str] = value["users"][0]["user"]["auth-provider"]["config"]
    return config


def test_an_id_token_is_used_while_it_holds(provider: IdentityProvider, file: Path) -> None:
    token = provider.id_token()
    access = access_with(file, provider.settings(**{"id-token": token}))
    assert token_of(access) == token
    assert provider.forms == []


@pytest.mark.parametrize("lifetime", [-60.0, 8.0])
def test_an_id_token_that_ends_is_refreshed_and_written_back(
    provider: IdentityProvider, file: Path, lifetime: float
) -> None:
    old = provider.id_token(lifetime)
    access = access_with(file, provider.settings(**{"id-token": old}), extra={"of": "others"})
    token = token_of(access)
    assert token != old
    assert token_of(access) == token
    assert [form["grant_type"] for form in provider.forms] == ["refresh_token"]
    assert written(file)["id-token"] == token
    assert written(file)["refresh-token"] == "refresh-1"
    assert json.loads(file.read_text())["extra"] == {"of": "others"}
    # The next process begins with what is written.
    assert token_of(load_access(file)) == token
    assert len(provider.forms) == 1


def test_another_refresh_token_is_written_back_too(provider: IdentityProvider, file: Path) -> None:
    provider.rotates = True
    token_of(access_with(file, provider.settings()))
    assert written(file)["refresh-token"] == provider.refresh_token == "refresh-11"


def test_a_yaml_file_stays_one_and_as_closed_as_it_was(
    provider: IdentityProvider, file: Path, tmp_path: Path
) -> None:
    value = configuration(user=provider.settings())
    real = tmp_path / "real"
    real.write_text(yaml.safe_dump(value))
    real.chmod(0o640)
    file.symlink_to(real)
    token = token_of(load_access(file))
    assert real.read_text().startswith("apiVersion: v1\n")
    assert written(real)["id-token"] == token
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert file.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config", "provider", "real"]


def test_the_file_that_the_user_is_from_is_written(
    provider: IdentityProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = configuration(user=provider.settings())
    first = write(tmp_path / "first", {**value, "users": []})
    second = write(tmp_path / "second", {"users": value["users"]})
    before = first.read_bytes()
    monkeypatch.setenv("KUBECONFIG", f"{first}{os.pathsep}{second}")
    token = token_of(load_access())
    assert written(second)["id-token"] == token
    assert first.read_bytes() == before


def test_the_authority_of_the_provider_may_be_inline(
    provider: IdentityProvider, file: Path
) -> None:
    data = base64.b64encode(provider.ca.read_bytes()).decode()
    ca = {"idp-certificate-authority": None, "idp-certificate-authority-data": data}
    assert token_of(access_with(file, provider.settings(**ca)))


def test_a_provider_may_want_to_be_told_who_asks_in_the_form(
    provider: IdentityProvider, file: Path
) -> None:
    provider.wants_form = True
    assert token_of(access_with(file, provider.settings()))
    assert provider.forms[-1]["client_id"] == CLIENT


def test_one_refresh_is_for_all_who_wait(provider: IdentityProvider, file: Path) -> None:
    provider.rotates = True
    accesses = [access_with(file, provider.settings()) for _ in range(2)]

    async def ask() -> set[str]:
        proofs = await asyncio.gather(*(access.credentials.proof() for access in accesses * 5))
        return {proof.authorization for proof in proofs}

    assert len(asyncio.run(ask())) == 1
    assert len(provider.forms) == 1


def test_a_token_that_another_process_has_fetched_is_used(
    provider: IdentityProvider, file: Path
) -> None:
    access = access_with(file, provider.settings())
    token = provider.id_token()
    write(file, configuration(user=provider.settings(**{"id-token": token})))
    assert token_of(access) == token
    assert provider.forms == []


def test_a_writer_waits_for_the_lock(provider: IdentityProvider, file: Path) -> None:
    access = access_with(file, provider.settings())
    lock = file.with_name("config.lock")
    lock.touch()
    release = threading.Timer(0.2, lock.unlink)
    release.start()
    token = token_of(access)
    release.join()
    assert written(file)["id-token"] == token


def test_a_lock_that_stays_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.client.access.editor._LOCK_TIMEOUT", 0.05)
    file.with_name("config.lock").touch()
    with pytest.raises(AccessError, match=r"open .*config\.lock: file exists"):
        change_file(file, lambda document: None)


def test_tokens_that_cannot_be_written_are_told(provider: IdentityProvider, file: Path) -> None:
    access = access_with(file, provider.settings())
    file.write_text("a: [")
    assert "the new tokens cannot be saved" in refusal(access)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"refresh-token": None},
            "the id-token has expired, and there is no refresh-token",
        ),
        ({"refresh-token": "other"}, 'failed to refresh token: oauth2: 400 "{"error": "invalid_g'),
        ({"client-secret": "other"}, 'failed to refresh token: oauth2: 401 "{"error": "invalid_c'),
        ({"id-token": "no.jwt"}, "the id-token is not a JWT"),
        ({"id-token": "a.b.c"}, "failed to parse claims of the ID Token"),
        ({"idp-certificate-authority": None}, "failed to verify certificate"),
        ({"idp-issuer-url": "https://127.0.0.1:1"}, "connection refused"),
        ({"idp-issuer-url": "ldap://x"}, "it is not an http or https URL"),
    ],
)
def test_what_cannot_be_refreshed_is_told(
    provider: IdentityProvider, file: Path, settings: Any, message: str
) -> None:
    assert message in refusal(access_with(file, provider.settings(**settings)))


@pytest.mark.parametrize(
    ("discovery", "message"),
    [
        (b"\x1b[2Jbroken", 'the identity provider has no discovery document: 500 "^[[2Jbroken"'),
        ({"issuer": "x"}, "the identity provider names no token_endpoint"),
    ],
)
def test_a_provider_that_cannot_be_asked_is_told(
    provider: IdentityProvider, file: Path, discovery: Any, message: str
) -> None:
    provider.discovery = discovery
    assert message in refusal(access_with(file, provider.settings()))


def test_a_refresh_without_an_id_token_is_an_error(provider: IdentityProvider, file: Path) -> None:
    provider.answer = {"id_token": None}
    before = write(file, configuration(user=provider.settings())).read_bytes()
    assert refusal(load_access(file)) == (
        "the identity provider answered without an id_token: perhaps the refresh-token was got"
        ' without the scope "openid", or it gives none on a refresh'
    )
    assert file.read_bytes() == before


def test_a_server_that_trusts_the_provider_knows_the_user(
    provider: IdentityProvider, file: Path, fresh_server: FreshServer
) -> None:
    server = fresh_server(
        *("--oidc-issuer-url", provider.issuer, "--oidc-client-id", CLIENT),
        *("--oidc-ca-file", str(provider.ca)),
    )
    value = configuration(cluster_of(server), provider.settings())
    assert seen_as(load_access(write(file, value))) == f"{provider.issuer}#olga"
