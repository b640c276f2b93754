"""What is kept on disk of an object, and what is served of it."""

from __future__ import annotations

import orjson
import pytest

from fairlead.storage.version import GOING, HELD, OWNED, Version, body_of, encode, encoded_of

UID = "613978e8-90f0-4168-a29b-2a5031e4e4a2"


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a", "namespace": "n", "uid": UID, "labels": {"resourceVersion": "1"}},
        {"name": "a", "generateName": "g-", "uid": UID, "generation": 1},
        {"name": 'odd"resourceVersion":"5', "uid": UID, "generation": 1},
        {"name": "without-uid"},
        {"annotations": {'"resourceVersion":"': '"resourceVersion":"7",'}},
    ],
)
def test_version_body_gives_back_the_revision_that_was_put_in(
    metadata: dict[str, object],
) -> None:
    kept = encode({"metadata": metadata, "data": {"resourceVersion": "9"}})
    body = body_of(kept, 12345)
    assert orjson.loads(b"{" + body)["metadata"] == {**metadata, "resourceVersion": "12345"}
    assert encoded_of(body) == kept


@pytest.mark.parametrize(
    ("metadata", "hints"),
    [
        ({"name": "a"}, 0),
        ({"name": "a", "annotations": {"a": '"finalizers":["x"]'}}, 0),
        ({"name": "a", "deletionTimestamp": "2024-01-01T00:00:00Z"}, GOING),
        ({"name": "a", "ownerReferences": [{"uid": UID}], "finalizers": ["x"]}, OWNED | HELD),
        ({"name": "a", "finalizers": ["x"], "managedFields": [{"manager": "m"}]}, HELD),
        ({"name": "a", "managedFields": [{"fieldsV1": {"f:x": {"finalizers": {}}}}]}, 0),
    ],
)
def test_version_flags_are_the_same_for_bytes_and_for_objects(
    metadata: dict[str, object], hints: int
) -> None:
    value = {"metadata": metadata}
    body = body_of(encode(value), 7)
    read, known = Version("n/a", 7, "v1", body), Version("n/a", 7, "v1", body)
    known.know(value)
    assert (read.hints, known.hints) == (hints, hints)
