"""Servers on one store must share a CA."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.shared_store import Servers, on_servers

from fairlead.base.dialect import KUBERNETES
from fairlead.operations.api import Api
from fairlead.operations.client import Client, system_user
from fairlead.process.certificates.issue import Issued, make_authority, renew_authority
from fairlead.process.certificates.shared_authority import ForeignAuthority, share_authority

SYSTEM, NAME = KUBERNETES.system_namespace, KUBERNETES.ca_config_map
CONFIG_MAPS = "core/v1/configmaps"
NOW, LIFETIME = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)


def written(directory: Path, name: str, issued: Issued) -> Path:
    path = directory / name
    path.write_bytes(issued.certificate)
    return path


def client_of(api: Api) -> Client:
    return Client(api, system_user("apiserver"))


def test_a_server_of_another_ca_does_not_join(tmp_path: Path) -> None:
    mine, theirs = (
        written(tmp_path, name, make_authority("ca", NOW, LIFETIME)) for name in ("a", "b")
    )

    async def work(servers: Servers, first: Api) -> None:
        second = await servers.start()
        await share_authority(client_of(first), KUBERNETES, theirs)
        await second.store.catch_up()
        with pytest.raises(ForeignAuthority, match=r"kube-system/kube-root-ca\.crt does not have"):
            await share_authority(client_of(second), KUBERNETES, mine)
        published = first.lookup(CONFIG_MAPS, SYSTEM, NAME)
        assert published is not None
        assert published["data"]["ca.crt"] == theirs.read_text()

    on_servers(work, SYSTEM)


def test_of_two_cas_that_begin_at_once_one_is_refused(tmp_path: Path) -> None:
    files = [written(tmp_path, name, make_authority("ca", NOW, LIFETIME)) for name in ("a", "b")]

    async def work(servers: Servers, first: Api) -> None:
        apis = [first, await servers.start()]
        ended = await asyncio.gather(
            *(
                share_authority(client_of(api), KUBERNETES, ca)
                for api, ca in zip(apis, files, strict=True)
            ),
            return_exceptions=True,
        )
        assert sorted(type(item).__name__ for item in ended) == ["ForeignAuthority", "NoneType"]

    on_servers(work, SYSTEM)


def test_a_ca_that_was_renewed_is_the_same(tmp_path: Path) -> None:
    issued = make_authority("ca", NOW, LIFETIME)
    old = written(tmp_path, "old", issued)
    new = written(tmp_path, "new", renew_authority(issued, NOW + LIFETIME / 2, LIFETIME))
    assert old.read_bytes() != new.read_bytes()

    async def work(servers: Servers, first: Api) -> None:
        for ca in (old, new, old):
            await share_authority(client_of(first), KUBERNETES, ca)

    on_servers(work, SYSTEM)


def test_what_is_no_certificate_keeps_nobody_from_starting(tmp_path: Path) -> None:
    ca = written(tmp_path, "ca", make_authority("ca", NOW, LIFETIME))

    async def work(servers: Servers, first: Api) -> None:
        damaged = {"metadata": {"name": NAME, "namespace": SYSTEM}, "data": {"ca.crt": "x"}}
        await client_of(first).create(CONFIG_MAPS, damaged)
        await share_authority(client_of(first), KUBERNETES, ca)

    on_servers(work, SYSTEM)
