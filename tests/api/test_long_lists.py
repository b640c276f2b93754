"""Long lists are encoded in steps, with the same bytes as in one step."""

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


def in_steps(key: str, expected: list[Version], form: Representation) -> tuple[bytes, float]:
    """The bytes, and the longest that anything else had to wait for the loop."""

    async def run() -> tuple[bytes, float]:
        longest = 0.0

        async def pieces() -> bytes:
            resource = RESOURCES.named(key)
            encoded = encoded_versions(RESOURCES, resource, expected, METADATA, form)
            return b"".join([piece async for piece in encoded])

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
    result = versions(key, count)
    assert in_steps(key, result, FORMS[form])[0] == at_once(key, result, FORMS[form])


@pytest.mark.parametrize("form", FORMS)
def test_no_step_of_a_long_list_is_long(form: str) -> None:
    result = versions("core/v1/configmaps", 5000)
    assert in_steps("core/v1/configmaps", result, FORMS[form])[1] < 0.1


def test_the_size_of_a_list_in_protobuf_is_known_with_its_first_piece() -> None:
    result = versions("core/v1/configmaps", 300)

    async def run() -> tuple[int | None, int]:
        resource = RESOURCES.named("core/v1/configmaps")
        encoded = encoded_versions(RESOURCES, resource, result, METADATA, FORMS["protobuf"])
        first = await anext(encoded.pieces)
        reported = encoded.size
        return reported, len(first) + sum([len(piece) async for piece in encoded])

    reported, size = asyncio.run(run())
    assert reported == size
