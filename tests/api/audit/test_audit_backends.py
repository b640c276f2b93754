"""Audit backends: blocking, batching and lost events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from support.answering import Answering
from support.waiting import comes_true

from fairlead.api.audit import buffer
from fairlead.api.audit.backend import Blocking, SeveralBackends, in_json, truncated
from fairlead.api.audit.buffer import Buffer
from fairlead.api.audit.fragments import Caller, caller
from fairlead.api.audit.log import legacy_line
from fairlead.api.audit.metrics import ERRORS
from fairlead.api.audit.policy import METADATA, REQUEST_RESPONSE, Batching, Limits, Verdict
from fairlead.api.audit.record import Names, Record, Subject, request_fields
from fairlead.api.audit.webhook import Webhook
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Decision
from fairlead.wire.outgoing.client_config import ClientConfig
from fairlead.wire.outgoing.json_calls import JsonPoster

NAMES = Names("k8s.io")
NOWHERE = caller((), "")
MOMENT = 1714979289.125  # 2024-05-06T07:08:09.125Z
PLAIN = in_json("{", "")


def record(
    number: int = 0,
    level: int = METADATA,
    uri: str = "/version",
    user: User | None = None,
    source: Caller = NOWHERE,
) -> Record:
    created = Record(NAMES, f"id-{number}".encode(), MOMENT)
    reported = request_fields(NAMES, user, "get", uri)
    created.judge(Subject(user, "get", uri, "", "", source, Verdict(level), reported, ""))
    created.stage, created.code = "ResponseComplete", 200
    return created


def ids(events: list[bytes]) -> list[str]:
    return [json.loads(event)["auditID"] for event in events]


class Taking:
    """A sink that stores events after it was released."""

    def __init__(self, stores: bool = True) -> None:
        self.batches: list[list[bytes]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.stores = stores
        self.closed = False

    def deliver(self, event: bytes) -> bool:
        self.batches.append([event])
        return self.stores

    async def deliver_in_background(self, events: list[bytes]) -> bool:
        await self.open.wait()
        self.batches.append(events)
        return self.stores

    async def close(self) -> None:
        self.closed = True


def buffered(sink: Taking, concurrent: bool = True, **more: Any) -> Buffer:
    value = {"buffer_size": 10, "max_size": 3, "max_wait": 60.0, "qps": 0.0, "burst": 0, **more}
    return Buffer(PLAIN, sink, Batching(**value), concurrent=concurrent)


def lost(plugin: str) -> float:
    return ERRORS.value(of=(plugin,))


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


def test_blocking_goes_on_where_nothing_could_be_stored() -> None:
    assert Blocking(PLAIN, Taking(stores=False), strict=False).accept(record()) is True


def test_strictly_blocking_does_not() -> None:
    assert Blocking(PLAIN, Taking(stores=False), strict=True).accept(record()) is False
    assert Blocking(PLAIN, Taking(), strict=True).accept(record()) is True


def test_of_two_backends_each_is_told_and_one_can_refuse() -> None:
    weak, strong = Taking(stores=False), Taking()
    both = SeveralBackends(
        [Blocking(PLAIN, weak, strict=True), Blocking(PLAIN, strong, strict=True)]
    )
    assert both.accept(record(1)) is False
    assert ids(weak.batches[0]) == ids(strong.batches[0]) == ["id-1"]


def test_events_are_sent_together_once_there_are_enough() -> None:
    async def test() -> None:
        sink = Taking()
        buffer = buffered(sink)
        for number in range(7):
            assert buffer.accept(record(number)) is True
        await comes_true(lambda: len(sink.batches) == 2, "two batches are sent")
        assert [len(batch) for batch in sink.batches] == [3, 3]
        await buffer.close()
        assert [item for batch in map(ids, sink.batches) for item in batch] == [
            f"id-{number}" for number in range(7)
        ]
        assert sink.closed

    run(test)


def test_events_that_stay_few_are_sent_after_a_while() -> None:
    async def test() -> None:
        sink = Taking()
        buffer = buffered(sink, max_wait=0.01)
        buffer.accept(record(1))
        await comes_true(lambda: len(sink.batches) == 1, "one event is sent")
        await buffer.close()

    run(test)


def test_a_full_buffer_loses_events_with_a_count_and_holds_nobody_up() -> None:
    async def test() -> None:
        sink = Taking()
        sink.open.clear()
        buffer = buffered(sink, concurrent=False, max_size=1)
        before = lost("buffered")
        for number in range(100):
            assert buffer.accept(record(number)) is True
        assert lost("buffered") - before == 90
        sink.open.set()
        await buffer.close()
        assert sum(map(len, sink.batches)) == 10

    run(test)


def test_a_buffer_holds_no_more_bytes_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "MAX_BYTES", 1000)

    async def test() -> None:
        sink = Taking()
        sink.open.clear()
        created = buffered(sink, buffer_size=10_000)
        before = lost("buffered")
        for number in range(100):
            created.accept(record(number))
            await asyncio.sleep(0)
        assert 90 < lost("buffered") - before < 100
        sink.open.set()
        await created.close()

    run(test)


def test_batches_are_no_longer_than_they_may_be() -> None:
    async def test() -> None:
        sink = Taking()
        size = len(record().json())
        batching = Batching(100, 50, 60.0, 0.0, 0)
        created = Buffer(PLAIN, sink, batching, batch_bytes=2 * size, concurrent=True)
        for number in range(5):
            created.accept(record(number))
        await created.close()
        assert [len(batch) for batch in sink.batches] == [2, 2, 1]

    run(test)


def test_batches_come_no_faster_than_they_may() -> None:
    async def test() -> None:
        sink = Taking()
        created = buffered(sink, max_size=1, qps=0.001, burst=2)
        for number in range(5):
            created.accept(record(number))
        await comes_true(lambda: len(sink.batches) == 2, "the burst is sent")
        await asyncio.sleep(0.05)
        assert len(sink.batches) == 2
        await created.close()
        assert len(sink.batches) == 5

    run(test)


def test_an_end_that_cannot_wait_longer_counts_what_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buffer, "_SECONDS_TO_END", 0.05)

    async def test() -> None:
        sink = Taking()
        sink.open.clear()
        created = buffered(sink)
        before = lost("buffered")
        for number in range(4):
            created.accept(record(number))
        await created.close()
        assert lost("buffered") - before == 4

    run(test)


def test_a_long_event_loses_its_objects() -> None:
    created = record(level=REQUEST_RESPONSE)
    created.request_object = b'{"a":"%b"}' % (b"x" * 1000)
    shape = truncated(Limits(500, 1000), "{", "")
    event = shape(created)
    assert event is not None
    numbers = json.loads(event)
    assert "requestObject" not in numbers
    assert numbers["annotations"] == {"audit.k8s.io/truncated": "true"}
    created.request_object = b'{"a":"x"}'
    assert "requestObject" in json.loads(shape(created) or b"")


def test_an_event_that_is_long_without_objects_is_lost() -> None:
    before = lost("truncate")
    created = record(uri="/" + "x" * 1000)
    assert truncated(Limits(500, 1000), "{", "")(created) is None
    assert lost("truncate") - before == 1


def test_patches_of_webhooks_are_noted_from_level_request_on() -> None:
    notes = {
        f"{word}.webhook.admission.k8s.io/round_0_index_0": "{}" for word in ("mutation", "patch")
    }
    for level, reported in ((METADATA, 1), (REQUEST_RESPONSE, 2)):
        created = record(level=level)
        created.annotations = dict(notes)
        assert len(json.loads(created.json())["annotations"]) == reported


def test_the_legacy_format_is_a_line_of_text() -> None:
    created = record(
        1, user=User('al"ice\n', groups=("dev", "ops")), source=caller(("10.0.0.1",), "curl")
    )
    created.decided(Decision(True))
    assert legacy_line(created) == (
        b'2024-05-06T07:08:09.125Z AUDIT: id="id-1" stage="ResponseComplete" ip="10.0.0.1"'
        b' method="get" user="al\\"ice\\n" groups="\\"dev\\",\\"ops\\"" as="<self>"'
        b' asgroups="<lookup>" user-agent="curl" namespace="<none>" uri="/version"'
        b' response="200"\n'
    )


def test_text_that_utf_8_does_not_have_is_told_nevertheless() -> None:
    created = record(uri="/\udcff", user=User("\udcff", groups=("\ud800",)))
    created.is_given, created.raw_id = True, b"\x80"
    assert json.loads(created.json())["requestURI"] == "/?"


def posting(port: int, first_pause: float = 0.01) -> Webhook:
    config = ClientConfig(server=f"http://127.0.0.1:{port}/audit", token="secret")
    return Webhook(JsonPoster(config), "audit.k8s.io/v1", first_pause)


def test_a_webhook_is_posted_lists_of_events() -> None:
    other = Answering()
    other.answers = [(200, b"")]

    async def test() -> None:
        hook = posting(other.port)
        events = [record(number).json() for number in range(2)]
        assert await hook.deliver_in_background(events) is True
        await hook.close()
        headers, body = other.seen[0]
        assert headers["authorization"] == "Bearer secret"
        head = {"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}}
        assert body == {**head, "items": [orjson.loads(event) for event in events]}

    run(test)
    other.close()


def test_a_webhook_that_fails_for_a_while_is_tried_again() -> None:
    other = Answering()
    other.answers = [(500, b"no"), (429, b"no"), (200, b"{}")]

    async def test() -> None:
        hook = posting(other.port)
        before = lost("webhook")
        assert await hook.deliver_in_background([record().json()]) is True
        assert len(other.seen) == 3
        assert lost("webhook") == before
        await hook.close()

    run(test)
    other.close()


@pytest.mark.parametrize("answers", [[(400, b"no")], [(500, b"no")] * 5])
def test_what_a_webhook_does_not_take_is_lost_with_a_count(
    answers: list[tuple[int, bytes]],
) -> None:
    other = Answering()
    other.answers = list(answers)

    async def test() -> None:
        hook = posting(other.port)
        before = lost("webhook")
        assert await hook.deliver_in_background([record(1).json(), record(2).json()]) is False
        assert lost("webhook") - before == 2
        assert other.answers == []
        await hook.close()

    run(test)
    other.close()
