"""Bodies of the maximum size and every bad shape are parsed or refused quickly."""

from __future__ import annotations

import gc
import resource as limits
from time import process_time

import pytest
from support.adversarial import MAX_BYTES, json_bodies, message_bodies, yaml_bodies
from support.pace import in_time

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.bodies import (
    BodyError,
    TooDeep,
    bounded_json,
    duplicate_fields,
    parse_json,
    parse_yaml,
)
from fairlead.codec.protobuf import ProtobufError, envelope, from_message
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.yaml_writer import dump
from fairlead.resources.registry import Resources

# What is held by the interpreter while it goes on; a busy machine gets some room.
MAX_SECONDS = 0.6
# YAML is read event by event, in a thread that others can interrupt at any of them.
MAX_YAML_SECONDS = 4.0
# Nothing but the number of fields counts in a message, so a third of the size gets a third of the
# time.
MESSAGE_BYTES = MAX_BYTES // 3
MAX_MESSAGE_SECONDS = 1.0
MAX_MEGABYTES = 600  # above the peak that other tests of this process have reached

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))


@pytest.fixture(autouse=True)
def _no_collections() -> object:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", json_bodies(1000))
def test_a_bad_json_body_is_dealt_with_at_once(name: str) -> None:
    raw = json_bodies()[name]()
    before = process_time()
    repeated: list[str] = []
    refusal = ""
    try:
        repeated = duplicate_fields(raw, parse_json(raw))
    except (BodyError, TooDeep) as error:
        refusal = str(error)
    assert len(repeated) <= 100
    assert len(refusal) < 1000
    assert in_time(process_time() - before, MAX_SECONDS)


@pytest.mark.parametrize("name", yaml_bodies(1000))
def test_a_bad_yaml_body_is_dealt_with_in_time_and_space(name: str) -> None:
    raw = yaml_bodies()[name]()
    before, peak = process_time(), _peak_megabytes()
    value: object = None
    repeated: list[str] = []
    refusal = ""
    try:
        value, repeated = parse_yaml(raw)
    except BodyError as error:
        refusal = str(error)
    assert len(repeated) <= 100
    assert len(refusal) < 1000
    assert len(bounded_json(value)) < 4 * MAX_BYTES
    assert in_time(process_time() - before, MAX_YAML_SECONDS)
    assert _peak_megabytes() - peak < MAX_MEGABYTES


def _peak_megabytes() -> float:
    return limits.getrusage(limits.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("kind", ["core/v1/pods", "apiextensions/v1/customresourcedefinitions"])
@pytest.mark.parametrize("name", message_bodies(RESOURCES.named("core/v1/pods").struct, "v1", 1000))
def test_a_bad_message_is_dealt_with_in_time(kind: str, name: str) -> None:
    resource = RESOURCES.named(kind)
    raw = message_bodies(resource.struct, resource.api_version, MESSAGE_BYTES)[name]()
    before = process_time()
    refusal = ""
    try:
        _, _, content = envelope(raw)
        bounded_json(from_message(resource.struct, content))
    except ProtobufError as error:
        refusal = str(error)
    assert len(refusal) < 1000
    assert in_time(process_time() - before, MAX_MESSAGE_SECONDS)


@pytest.mark.parametrize(
    "text", ["a", "\t", "\n", " ", ":", " #", "'", '"', "\x00", "\U0001f600", "- ", "a\n", "9"]
)
def test_a_long_text_is_written_as_yaml_at_once(text: str) -> None:
    long = text * (1024 * 1024 // len(text.encode()))
    before = process_time()
    written = dump({"a": long})
    assert in_time(process_time() - before, MAX_SECONDS)
    assert parse_yaml(written)[0] == {"a": long}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b'{"a":1,"a" :2}', ["a"]),
        (b'{"a":1,"a"\n:2}', ["a"]),
        (b'{"b":{"a":"\\u003a","a":2}}', ["b.a"]),
        (b'{"b":[0,{"a":"\\u003A\\u003a","a":2,"a":3}]}', ["b[1].a", "b[1].a"]),
        (b'{"a":"x\xff","a":1}', ["a"]),
        (b'{"a":1,"a":2,"b":' + b"9" * 300 + b"}", ["a"]),
        (b'{"a":":","b":"\\":"}', []),
        (b'{"a" : {"a" : [ ] }}', []),
    ],
)
def test_nothing_hides_a_repeated_key(body: bytes, paths: list[str]) -> None:
    assert duplicate_fields(body, parse_json(body)) == paths
