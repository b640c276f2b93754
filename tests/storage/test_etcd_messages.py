"""Messages of etcd are decoded in any order of fields."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairlead.codec.protobuf_wire import BYTES, VARINT, delimited, key, varint
from fairlead.storage.etcd.messages import (
    Event,
    KeyValue,
    read_header,
    read_range,
    read_revision,
    read_txn,
    read_watch,
)

numbers = st.integers(1, 2**63 - 1)
small = st.binary(max_size=300)
entries = st.builds(KeyValue, st.binary(min_size=1, max_size=300), numbers, numbers, small)


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return key(number, VARINT) + varint(value)
    return delimited(key(number, BYTES), value)


def message(fields: list[tuple[int, int | bytes]], *, turned: bool) -> bytes:
    """Encode fields in the order of their numbers, like etcd, or reversed; zero and empty values
    are omitted."""
    results = [field(*item) for item in fields if item[1]]
    return b"".join(reversed(results) if turned else results)


def entry_of(key_value: KeyValue, created: int, lease: int, *, turned: bool) -> bytes:
    fields: list[tuple[int, int | bytes]] = [
        (1, key_value.key),
        (2, created),
        (3, key_value.revision),
    ]
    return message(
        [*fields, (4, key_value.version), (5, key_value.value), (6, lease)], turned=turned
    )


def header_of(cluster: int, revision: int, *, turned: bool) -> bytes:
    return message([(1, cluster), (2, cluster), (3, revision), (4, 2)], turned=turned)


@given(st.lists(entries, max_size=4), numbers, st.integers(0, 2**63 - 1), st.booleans())
def test_etcd_range_response_is_read_in_any_order_of_fields(
    found: list[KeyValue], cluster: int, lease: int, turned: bool
) -> None:
    fields: list[tuple[int, int | bytes]] = [(1, header_of(cluster, 77, turned=turned))]
    fields += ((2, entry_of(item, 5, lease, turned=turned)) for item in found)
    raw = message([*fields, (4, 9)], turned=turned)
    answer = read_range(raw)
    assert (answer.revision, answer.total) == (77, 9)
    assert answer.entries == (found[::-1] if turned else found)
    assert read_header(raw) == (cluster, 77)
    assert read_revision(raw) == 77


@given(st.lists(st.tuples(entries, st.booleans(), st.none() | entries), max_size=4), st.booleans())
def test_etcd_watch_response_is_read_in_any_order_of_fields(
    found: list[tuple[KeyValue, bool, KeyValue | None]], turned: bool
) -> None:
    events = [Event(*item) for item in found]
    raw_events: list[tuple[int, int | bytes]] = []
    for event in events:
        fields: list[tuple[int, int | bytes]] = [(1, int(event.is_deletion))]
        fields.append((2, entry_of(event.entry, 5, 0, turned=turned)))
        if event.before is not None:
            fields.append((3, entry_of(event.before, 5, 0, turned=turned)))
        raw_events.append((11, message(fields, turned=turned)))
    for is_fragment in (0, 1):
        head: list[tuple[int, int | bytes]] = [(1, header_of(1, 77, turned=turned))]
        raw = message([*head, (2, 3), (7, is_fragment), *raw_events], turned=turned)
        reported = read_watch(raw)
        assert reported.events == (events[::-1] if turned else events)
        assert reported.is_fragment == bool(is_fragment)
        assert not reported.is_cancelled


@given(st.booleans(), st.booleans())
def test_etcd_transaction_response_is_read_in_any_order_of_fields(
    succeeded: bool, turned: bool
) -> None:
    looks = message([(1, b"look")], turned=turned)
    raw = message(
        [(1, header_of(1, 300, turned=turned)), (2, int(succeeded)), (3, looks)], turned=turned
    )
    assert read_txn(raw) == (300, succeeded, [] if succeeded else [looks])


def test_etcd_watch_that_ends_says_why() -> None:
    reported = read_watch(message([(4, 1), (5, 12), (6, b"too old")], turned=False))
    assert (reported.is_cancelled, reported.compacted, reported.reason) == (True, 12, "too old")
