"""Long lists are written in steps, with the bytes that they would have if written at once."""

from __future__ import annotations

import asyncio
import gc
from time import process_time
from typing import Any

import pytest
from support.lists import METADATA, RESOURCES, at_once

from fairlead.api.long_lists import encoded_versions
from fairlead.api.negotiation import YAML, Representation
from fairlead.base.dialect import KUBERNETES
from fairlead.storage.version import Version, body_of
from fairlead.storage.version import encode as stored

Object = dict[str, Any]

PROTOBUF = KUBERNETES.protobuf_media_type
FORMS = {
    "yaml": Representation(YAML),
    "pretty": Representation(pretty=True),
    "protobuf": Representation(PROTOBUF),
    "table": Representation(transform="Table", version="v1"),
    "yaml table": Representation(YAML, transform="Table", version="v1"),
    "metadata": Representation(transform="PartialObjectMetadataList", version="v1"),
    "protobuf metadata": Representation(PROTOBUF, False, "PartialObjectMetadataList", "v1"),
}


def versions(key: str, count: int) -> list[Version]:
    return [_version(key, number) for number in range(count)]


def _version(key: str, number: int) -> Version:
    metadata = {
        "name": f"a-{number}",
        "namespace": "ns",
        "uid": f"0000-{number}",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "labels": {"app": "x", "part": str(number % 7)},
    }
    content: Object = {"data": {"a": "b\nc\n", "key": "value " * 20}}
    if key == "core/v1/events":
        content = {
            "involvedObject": {"kind": "Pod", "name": "p"},
            "lastTimestamp": f"2020-01-01T00:00:{number * 7 % 60:02}Z",
            "count": 1,
        }
    value = {"metadata": metadata, **content}
    return Version(f"ns/a-{number}", number + 1, "v1", body_of(stored(value), number + 1))


def in_steps(key: str, found: list[Version], form: Representation) -> tuple[bytes, float]:
    """The bytes, and the longest that anything else had to wait for the loop."""

    async def run() -> tuple[bytes, float]:
        longest = 0.0

        async def pieces() -> bytes:
            resource = RESOURCES.named(key)
            made = encoded_versions(RESOURCES, resource, found, METADATA, form)
            return b"".join([piece async for piece in made])

        under_way = asyncio.ensure_future(pieces())
        while not under_way.done():
            before = process_time()
            await asyncio.sleep(0)
            longest = max(longest, process_time() - before)
        return await under_way, longest

    gc.disable()  # all that the tests before have left would be looked through
    try:
        return asyncio.run(run())
    finally:
        gc.enable()


@pytest.mark.parametrize("count", [0, 1, 2, 300])
@pytest.mark.parametrize("key", ["core/v1/configmaps", "core/v1/events"])
@pytest.mark.parametrize("form", FORMS)
def test_a_list_in_steps_has_the_bytes_of_one_at_once(form: str, key: str, count: int) -> None:
    found = versions(key, count)
    assert in_steps(key, found, FORMS[form])[0] == at_once(key, found, FORMS[form])


@pytest.mark.parametrize("form", FORMS)
def test_no_step_of_a_long_list_is_long(form: str) -> None:
    found = versions("core/v1/configmaps", 5000)
    assert in_steps("core/v1/configmaps", found, FORMS[form])[1] < 0.1


def test_the_size_of_a_list_in_protobuf_is_known_with_its_first_piece() -> None:
    found = versions("core/v1/configmaps", 300)

    async def run() -> tuple[int | None, int]:
        resource = RESOURCES.named("core/v1/configmaps")
        made = encoded_versions(RESOURCES, resource, found, METADATA, FORMS["protobuf"])
        first = await anext(made.pieces)
        told = made.size
        return told, len(first) + sum([len(piece) async for piece in made])

    told, size = asyncio.run(run())
    assert told == size
