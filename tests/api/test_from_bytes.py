"""Tables and metadata that are built from stored bytes: equal to those of decoded objects, with
current ages."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from support.generating import objects_of
from support.lists import METADATA, RESOURCES, at_once

from fairlead.api.long_lists import encoded_versions
from fairlead.api.negotiation import YAML, Representation
from fairlead.api.stored_tables import can_write, item_writer, table_of
from fairlead.base import clock
from fairlead.resources.registry import Resource
from fairlead.storage.derived_cache import FORMS
from fairlead.storage.version import Version, body_of, encode, ordered

Object = dict[str, Any]

TABLE = Representation(transform="Table", version="v1")
PARTIAL = Representation(transform="PartialObjectMetadataList", version="v1beta1")
NOW = 1_800_000_000.25
LISTED = [
    resource
    for found in RESOURCES.group_versions()
    for resource in found.resources.values()
    if "list" in resource.verbs
]
STAMPS = (
    *("2027-01-15T08:00:00Z", "2027-01-15T07:59:58.5Z", "2027-01-15T09:00:00Z"),
    *("2027-01-11T00:00:00Z", "2019-03-01T00:00:00Z", "0001-01-01T00:00:00Z"),
)


@pytest.fixture(autouse=True)
def _moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "time", lambda: NOW)


def without_nulls(value: Any) -> Any:
    """Stored objects have no nulls."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value


def version(value: Object, number: int = 1) -> Version:
    metadata = {"name": f"a-{number}", "namespace": "ns", "uid": f"u-{number}"}
    metadata["creationTimestamp"] = STAMPS[number % len(STAMPS)]
    sent = {**value, "metadata": {**(value.get("metadata") or {}), **metadata}}
    body = body_of(encode(ordered(sent)), number)
    return Version(f"ns/a-{number}", number, "v1", body)


def in_steps(
    resource: Resource, versions: list[Version], form: Representation, include: str = "Metadata"
) -> bytes:
    async def run() -> bytes:
        encoded = encoded_versions(RESOURCES, resource, versions, METADATA, form, include)
        return b"".join([piece async for piece in encoded])

    return asyncio.run(run())


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.key)
def test_objects_of_every_kind_are_shown_as_if_they_were_read(resource: Resource) -> None:
    versions: list[Version] = []

    @settings(max_examples=5, suppress_health_check=list(HealthCheck))
    @given(objects_of(resource.struct, 5))
    def collect(value: Object) -> None:
        output = {name: value[name] for name in value.keys() - {"kind", "apiVersion"}}
        versions.append(version(without_nulls(output), len(versions)))

    collect()
    for include in ("Metadata", "Object", "None"):
        wanted = at_once(resource.key, versions, TABLE, include)
        assert in_steps(resource, versions, TABLE, include) == wanted  # made
        assert in_steps(resource, versions, TABLE, include) == wanted  # kept
    assert in_steps(resource, versions, PARTIAL) == at_once(resource.key, versions, PARTIAL)


def _container(number: int) -> Object:
    ended = {"exitCode": 1, "finishedAt": STAMPS[number % len(STAMPS)]}
    return {
        "ready": bool(number % 2),
        "restartCount": number,
        "state": {"running": {}} if number % 3 else {"terminated": ended},
        "lastState": {"terminated": ended} if number % 4 else {},
    }


def _pod(number: int) -> Version:
    phase = ("Running", "Succeeded", "Failed")[number % 3]
    containers = [_container(number), _container(number + 1)]
    status = {"phase": phase, "containerStatuses": containers, "podIP": "10.0.0.1"}
    return version({"spec": {"containers": [{}, {}]}, "status": status}, number)


def _job(number: int) -> Version:
    status = {"startTime": STAMPS[number % len(STAMPS)]}
    if number % 2:
        status["completionTime"] = STAMPS[number % 3]
    return version({"spec": {"completions": 2}, "status": status}, number)


def _event(number: int) -> Version:
    return version({"lastTimestamp": STAMPS[number % len(STAMPS)], "message": '"%d%b" ☃'}, number)


MAKERS = {"core/v1/pods": _pod, "batch/v1/jobs": _job, "core/v1/events": _event}


@pytest.mark.parametrize("key", MAKERS)
def test_ages_stand_wherever_a_row_shows_them(key: str) -> None:
    results = [MAKERS[key](number) for number in range(24)]
    for include in ("Metadata", "Object", "None"):
        wanted = at_once(key, results, TABLE, include)
        assert in_steps(RESOURCES.named(key), results, TABLE, include) == wanted


def test_a_kept_row_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = RESOURCES.named("core/v1/pods")
    pod = _pod(3)
    before = orjson.loads(item_writer(resource, TABLE, "None")(pod))["cells"]
    kept = pod.forms
    monkeypatch.setattr(clock, "time", lambda: NOW + 3600)
    after = orjson.loads(item_writer(resource, TABLE, "None")(pod))["cells"]
    assert (before[3], before[4]) == ("7 (4d8h ago)", "4d8h")
    assert (after[3], after[4]) == ("7 (4d9h ago)", "4d9h")
    assert pod.forms is kept


def test_what_is_kept_is_accounted_for() -> None:
    before = FORMS.bytes
    pod = _pod(1)
    item_writer(RESOURCES.named("core/v1/pods"), TABLE, "Metadata")(pod)
    assert FORMS.bytes - before > 500
    del pod
    assert FORMS.bytes == before


def test_the_table_of_one_object_is_that_of_a_list_of_one() -> None:
    resource, pod = RESOURCES.named("core/v1/pods"), _pod(7)
    of_list = in_steps(resource, [pod], TABLE)
    metadata = b'{"resourceVersion":"7","continue":"x"}'
    of_one = of_list.replace(metadata, b'{"resourceVersion":"7"}').rstrip()
    assert table_of(pod, resource, TABLE, "Metadata") == of_one


@pytest.mark.parametrize(
    "form",
    [
        Representation(),
        Representation(pretty=True, transform="Table", version="v1"),
        Representation(YAML, transform="Table", version="v1"),
        Representation(RESOURCES.dialect.protobuf_media_type, False, "Table", "v1"),
    ],
)
def test_only_compact_json_is_written_from_bytes(form: Representation) -> None:
    assert not can_write(RESOURCES.named("core/v1/pods"), form)


def test_what_is_shown_in_another_version_or_order_is_read() -> None:
    assert not can_write(RESOURCES.named("events/v1/events"), TABLE)
    assert not can_write(RESOURCES.named("flowcontrol/v1beta2/flowschemas"), TABLE)
