"""The config map with the CAs for extension servers."""

from __future__ import annotations

import asyncio
import json
import os
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from support.api import CONFIG_MAPS, system
from support.client import Client
from support.process import FreshServer, ServerProcess
from support.shared_store import Servers, on_servers
from support.waiting import eventually

from fairlead.auth.authentication.authorities import Authorities
from fairlead.auth.authentication.factory import Authentication
from fairlead.operations.api import Api
from fairlead.process.authentication_config_map import AuthenticationInfo
from fairlead.process.certificates.authority import ensure_pki, utc_now
from fairlead.process.certificates.issue import issue_client, make_authority

NAME = "extension-apiserver-authentication"
PATH = f"/api/v1/namespaces/kube-system/configmaps/{NAME}"
LIFE = timedelta(days=30)


def authority(name: str, now: datetime | None = None) -> str:
    return make_authority(name, now or utc_now(), LIFE).certificate.decode()


def data(client: Client, path: str = PATH) -> dict[str, str]:
    answer = client.get(path)
    result: dict[str, str] = answer.body["data"] if answer.status == 200 else {}
    return result


def proxy_ca(server: ServerProcess) -> str:
    return (server.data / "pki" / "front-proxy-ca.crt").read_text()


@pytest.mark.both_dialects
def test_a_fresh_server_says_what_it_sends(any_server: ServerProcess, client: Client) -> None:
    namespace = any_server.dialect.system_namespace
    result = data(client, f"/api/v1/namespaces/{namespace}/configmaps/{NAME}")
    assert any_server.ca.read_text() in result["client-ca-file"]
    assert result["requestheader-client-ca-file"] == proxy_ca(any_server)
    assert json.loads(result["requestheader-allowed-names"]) == ["front-proxy-client"]
    assert json.loads(result["requestheader-username-headers"]) == ["X-Remote-User"]
    assert json.loads(result["requestheader-group-headers"]) == ["X-Remote-Group"]
    assert json.loads(result["requestheader-extra-headers-prefix"]) == ["X-Remote-Extra-"]


def test_it_is_put_back_and_keeps_what_other_servers_add(server: ServerProcess) -> None:
    client = server.client()
    before = data(client)
    client.delete(PATH)
    eventually(lambda: data(client) == before, "it is there again")
    other, ended = authority("other"), authority("ended", datetime(2020, 1, 1, tzinfo=UTC))
    client.patch(
        PATH,
        {
            "data": {
                "client-ca-file": f"{ended}\nno certificate\n{other}",
                "requestheader-allowed-names": '[ "another" ]',
                "requestheader-username-headers": "[5]",
                "requestheader-group-headers": "{",
            }
        },
    )
    wanted = {
        **before,
        "client-ca-file": other + before["client-ca-file"],
        "requestheader-allowed-names": '["another","front-proxy-client"]',
    }
    eventually(lambda: data(client) == wanted, "it has what is of use of both")


def test_what_does_not_fit_is_begun_anew(server: ServerProcess) -> None:
    client = server.client()
    before = data(client)
    client.delete(PATH)
    eventually(lambda: bool(data(client)), "it is there again")
    full = {**client.get(PATH).body, "data": {"more": "x" * 1_048_500}}
    assert client.put(PATH, full).status == 200
    eventually(lambda: "more" not in data(client), "it was too large with what it lacked")
    eventually(lambda: "client-ca-file" in data(client), "it is there again")
    assert before["requestheader-client-ca-file"] == data(client)["requestheader-client-ca-file"]


def kept_by(api: Api, directory: Path) -> AuthenticationInfo:
    """As a server with this data directory keeps it."""
    pki = ensure_pki(directory, ["127.0.0.1"])
    trusted = SimpleNamespace(
        client_authorities=Authorities(pki.ca.certificate), proxy_authorities=None
    )
    authentication = cast(Authentication, trusted)
    return AuthenticationInfo(system(api), api.dialect, Namespace(), authentication, pki, api.gates)


def test_servers_that_start_at_the_same_time_are_all_in_it(tmp_path: Path) -> None:
    async def work(servers: Servers, _: Api) -> None:
        for names in ("ab", "cd"):  # those who find nothing, and those who find others
            apis = {name: await servers.start() for name in names}
            kept = [kept_by(api, tmp_path / name) for name, api in apis.items()]
            await asyncio.gather(*(item.prepare() for item in kept))
        result = await system(apis["d"]).get(CONFIG_MAPS, "kube-system", NAME)
        for name in "abcd":
            own = (tmp_path / name / "pki" / "front-proxy-ca.crt").read_text()
            assert own in result["data"]["requestheader-client-ca-file"]

    on_servers(work, "kube-system")


def test_a_client_ca_file_that_changes_is_published(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    file = tmp_path / "clients.crt"
    first, second = authority("first"), authority("second")
    file.write_text(first)
    client = fresh_server("--client-ca-file", str(file)).client()
    assert first in data(client)["client-ca-file"]
    written = tmp_path / "new.crt"
    written.write_text(second)
    os.replace(written, file)
    eventually(lambda: second in data(client)["client-ca-file"], "the new one is published")


def test_a_proxy_of_the_command_line_is_published_beside_this_server(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    file = tmp_path / "proxy.crt"
    file.write_text(authority("proxy"))
    server = fresh_server(
        f"--requestheader-client-ca-file={file}",
        "--requestheader-allowed-names=front",
        "--requestheader-username-headers=X-User",
    )
    result = data(server.client())
    assert result["requestheader-client-ca-file"] == file.read_text() + proxy_ca(server)
    assert json.loads(result["requestheader-allowed-names"]) == ["front", "front-proxy-client"]
    assert json.loads(result["requestheader-username-headers"]) == ["X-User", "X-Remote-User"]


def test_with_a_certificate_from_elsewhere_the_own_proxy_ca_is_not_for_anybody(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    ca = make_authority("elsewhere", utc_now(), LIFE)
    pair = issue_client(ca, "aggregator", (), utc_now(), LIFE)
    certificate, key = tmp_path / "proxy.crt", tmp_path / "proxy.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    server = fresh_server(
        f"--proxy-client-cert-file={certificate}", f"--proxy-client-key-file={key}"
    )
    assert list(data(server.client())) == ["client-ca-file"]


@pytest.mark.parametrize("flag", ["--proxy-client-cert-file", "--proxy-client-key-file"])
def test_half_a_pair_is_refused(fresh_server: FreshServer, tmp_path: Path, flag: str) -> None:
    with pytest.raises(AssertionError, match="go together"):
        fresh_server(f"{flag}={tmp_path / 'missing'}")
