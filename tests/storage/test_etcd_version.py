"""The record of format and release in etcd: newer formats are refused, this release is recorded."""

from __future__ import annotations

import asyncio
import json
from itertools import count

import pytest
from support.backends import write
from support.etcd import Etcd, needs_etcd
from support.plain_codec import PlainCodec
from support.reference_store import put, revision, value_at

from fairlead import __version__
from fairlead.storage.backend import StorageError
from fairlead.storage.etcd.source import FORMAT, EtcdSource

pytestmark = needs_etcd

CURRENT = {"format": FORMAT, "release": __version__}
_spaces = count()


@pytest.fixture
def prefix() -> str:
    return f"/version{next(_spaces)}"


def open_store(etcd: Etcd, prefix: str, *, records_release: bool = True) -> int:
    """Open the store as a server does; return the number of its objects."""

    async def main() -> int:
        source = EtcdSource([etcd.url], PlainCodec(), prefix, records_release=records_release)
        try:
            await source.open()
            return len((await source.snapshot()).rows)
        finally:
            await source.close()

    return asyncio.run(main())


def recorded(etcd: Etcd, prefix: str) -> object:
    return json.loads(value_at(etcd, f"{prefix}/fairlead/version"))


def test_a_server_records_its_release_beside_the_objects(etcd: Etcd, prefix: str) -> None:
    assert open_store(etcd, prefix) == 0
    assert recorded(etcd, prefix) == CURRENT


def test_a_server_that_starts_again_writes_no_second_record(etcd: Etcd, prefix: str) -> None:
    open_store(etcd, prefix)
    before = revision(etcd)
    open_store(etcd, prefix)
    assert revision(etcd) == before


def test_the_record_of_another_release_of_the_same_format_is_replaced(
    etcd: Etcd, prefix: str
) -> None:
    put(etcd, f"{prefix}/fairlead/version", b'{"format":1,"release":"9.0.0"}')
    open_store(etcd, prefix)
    assert recorded(etcd, prefix) == CURRENT


def test_a_newer_format_is_refused_and_its_record_left_alone(etcd: Etcd, prefix: str) -> None:
    newer = {"format": FORMAT + 1, "release": "9.0.0"}
    put(etcd, f"{prefix}/fairlead/version", json.dumps(newer).encode())
    message = f"format {FORMAT + 1}, written by a newer release, 9.0.0; this one, {__version__}"
    for records_release in (True, False):
        with pytest.raises(StorageError, match=message):
            open_store(etcd, prefix, records_release=records_release)
    assert recorded(etcd, prefix) == newer


@pytest.mark.parametrize("value", [b"nonsense", b"[]", b'{"format":"x"}', b"\xff"])
def test_a_record_that_cannot_be_read_is_replaced(etcd: Etcd, prefix: str, value: bytes) -> None:
    put(etcd, f"{prefix}/fairlead/version", value)
    open_store(etcd, prefix)
    assert recorded(etcd, prefix) == CURRENT


def test_commands_that_read_record_nothing(etcd: Etcd, prefix: str) -> None:
    open_store(etcd, prefix, records_release=False)
    with pytest.raises(KeyError):
        recorded(etcd, prefix)


def test_a_newer_format_recorded_meanwhile_is_refused(etcd: Etcd, prefix: str) -> None:
    newer = {"format": FORMAT + 1, "release": "9.0.0"}

    async def main() -> None:
        source = EtcdSource([etcd.url], PlainCodec(), prefix)
        await source.open()
        put(etcd, f"{prefix}/fairlead/version", json.dumps(newer).encode())
        try:
            await source._version.record()
        finally:
            await source.close()

    with pytest.raises(StorageError, match=r"newer release, 9\.0\.0"):
        asyncio.run(main())
    assert recorded(etcd, prefix) == newer


def test_the_record_is_no_object(etcd: Etcd, prefix: str) -> None:
    async def main() -> None:
        source = EtcdSource([etcd.url], PlainCodec(), prefix, records_release=True)
        await source.open()
        await source.write([write("a")])
        await source.close()

    asyncio.run(main())
    assert open_store(etcd, prefix) == 1
