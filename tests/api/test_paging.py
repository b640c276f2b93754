"""Lists in chunks: one consistent snapshot, whatever happens between the pages."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from support.client import Answer, Query
from support.namespaces import Collection, Space


def token_of(answer: Answer) -> str:
    return str(answer.body["metadata"].get("continue", ""))


def pages(collection: Collection, limit: int, **query: Query) -> list[Answer]:
    """All chunks of a list, the first included."""
    results = [collection.list(limit=limit, **query)]
    while token := token_of(results[-1]):
        query.pop("resourceVersion", None)
        results.append(collection.list(limit=limit, continue_=token, **query))
    return results


def names(answers: list[Answer]) -> list[list[str]]:
    return [answer.names for answer in answers]


def test_chunks_hold_at_most_the_limit_and_together_everything(space: Space) -> None:
    space.secrets.create_all(*"edcba")
    assert names(pages(space.secrets, 2)) == [["a", "b"], ["c", "d"], ["e"]]


def test_all_chunks_have_the_same_version(space: Space) -> None:
    space.secrets.create_all(*"abcde")
    answers = pages(space.secrets, 2)
    assert len({answer.version for answer in answers}) == 1


def test_a_list_that_fits_is_complete_and_has_no_token(space: Space) -> None:
    space.secrets.create_all(*"ab")
    metadata = space.secrets.list(limit=2).body["metadata"]
    assert set(metadata) == {"resourceVersion"}


def test_what_remains_is_counted(space: Space) -> None:
    space.secrets.create_all(*"abcde")
    remaining = [
        answer.body["metadata"].get("remainingItemCount") for answer in pages(space.secrets, 2)
    ]
    assert remaining == [3, 1, None]


@pytest.mark.parametrize(
    "selector",
    [{"labelSelector": "x"}, {"fieldSelector": "metadata.name!=c"}],
    ids=["label", "field"],
)
def test_what_remains_is_not_counted_with_a_selector(
    space: Space, selector: dict[str, str]
) -> None:
    for name in "abcde":
        space.secrets.create(name, labels={"x": "1"} if name != "c" else None)
    answers = pages(space.secrets, 2, **selector)
    assert names(answers) == [["a", "b"], ["d", "e"]]
    assert all("remainingItemCount" not in answer.body["metadata"] for answer in answers)


def test_an_object_created_between_chunks_is_not_shown(space: Space) -> None:
    space.secrets.create_all(*"abd")
    first = space.secrets.list(limit=1)
    space.secrets.create("c")
    rest = space.secrets.list(limit=9, continue_=token_of(first))
    assert (rest.names, rest.version) == (["b", "d"], first.version)


def test_an_object_deleted_between_chunks_is_still_shown(space: Space) -> None:
    space.secrets.create_all(*"abc")
    first = space.secrets.list(limit=1)
    space.secrets.remove("b")
    space.secrets.remove("c")
    assert space.secrets.list(limit=9, continue_=token_of(first)).names == ["b", "c"]


@pytest.mark.both_dialects
def test_an_object_changed_between_chunks_is_shown_as_it_was(space: Space) -> None:
    items = space.secrets.create_all(*"ab")
    first = space.secrets.list(limit=1)
    space.secrets.label("b", changed="yes")
    rest = space.secrets.list(limit=9, continue_=token_of(first))
    item = rest.body["items"][0]["metadata"]
    assert "labels" not in item
    assert item["resourceVersion"] == items[1]["metadata"]["resourceVersion"]


def test_an_object_deleted_and_made_again_is_shown_as_it_was(space: Space) -> None:
    items = space.secrets.create_all(*"ab")
    first = space.secrets.list(limit=1)
    space.secrets.remove("b")
    space.secrets.create("b")
    rest = space.secrets.list(limit=9, continue_=token_of(first))
    assert [item["metadata"]["uid"] for item in rest.body["items"]] == [items[1]["metadata"]["uid"]]


def test_what_remains_is_that_of_the_snapshot(space: Space) -> None:
    space.secrets.create_all(*"abcdef")
    first = space.secrets.list(limit=1)
    space.secrets.create_all("bb", "ff")
    space.secrets.remove("e")
    second = space.secrets.list(limit=1, continue_=token_of(first))
    assert second.names == ["b"]
    assert second.body["metadata"]["remainingItemCount"] == 4


def test_a_new_list_without_the_token_shows_the_changes(space: Space) -> None:
    space.secrets.create_all(*"ac")
    space.secrets.list(limit=1)
    space.secrets.create("b")
    assert names(pages(space.secrets, 2)) == [["a", "b"], ["c"]]


def test_the_limit_may_change_from_chunk_to_chunk(space: Space) -> None:
    space.secrets.create_all(*"abcdef")
    first = space.secrets.list(limit=1)
    second = space.secrets.list(limit=3, continue_=token_of(first))
    last = space.secrets.list(continue_=token_of(second))
    assert names([first, second, last]) == [["a"], ["b", "c", "d"], ["e", "f"]]
    assert token_of(last) == ""


def test_a_token_can_be_used_again(space: Space) -> None:
    space.secrets.create_all(*"abc")
    token = token_of(space.secrets.list(limit=1))
    assert space.secrets.list(limit=1, continue_=token).raw == (
        space.secrets.list(limit=1, continue_=token).raw
    )


@pytest.mark.both_dialects
def test_an_object_that_left_the_selection_between_chunks_is_still_shown(space: Space) -> None:
    for name in "abc":
        space.secrets.create(name, labels={"x": "1"})
    first = space.secrets.list(limit=1, labelSelector="x=1")
    space.secrets.label("b", x="2")
    rest = space.secrets.list(limit=9, labelSelector="x=1", continue_=token_of(first))
    assert rest.names == ["b", "c"]


def test_pages_go_across_namespaces(space: Space) -> None:
    other = Space(space.server, space.client)
    for place in (space, other):
        for name in "ab":
            place.secrets.create(name, labels={"pages": space.name})
    answers = pages(space.everywhere("secrets"), 3, labelSelector=f"pages={space.name}")
    assert [len(answer.names) for answer in answers] == [3, 1]
    listed = [
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for answer in answers
        for item in answer.body["items"]
    ]
    assert listed == sorted(listed)


def test_pages_of_one_namespace_stay_in_it(space: Space) -> None:
    space.secrets.create_all(*"ab")
    Space(space.server, space.client).secrets.create_all(*"ab")
    assert names(pages(space.secrets, 1)) == [["a"], ["b"]]


def test_cluster_scoped_types_are_paged_too(space: Space) -> None:
    answers = pages(space.everywhere("namespaces"), 2)
    listed = [name for answer in answers for name in answer.names]
    assert listed == sorted(listed)
    assert space.name in listed


@pytest.mark.both_dialects
def test_tables_and_metadata_lists_are_paged_too(space: Space) -> None:
    space.secrets.create_all(*"abc")
    for form, rows in (("Table", "rows"), ("PartialObjectMetadataList", "items")):
        accept = f"application/json;as={form};g={space.dialect.meta_group};v=v1"
        answer = space.client.get(space.secrets.path, headers={"Accept": accept}, limit=2)
        assert len(answer.body[rows]) == 2
        assert token_of(answer)
        assert answer.body["metadata"]["remainingItemCount"] == 1


def _tampered(token: str, **changes: Any) -> str:
    raw = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    raw.update(changes)
    return base64.urlsafe_b64encode(json.dumps(raw).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("nonsense", "invalid character "),
        ("e30", "server does not recognize this encoded version"),
        ("bnVsbA", "server does not recognize this encoded version"),
        ("W10", "json: cannot unmarshal array into Go value of type storage.continueToken"),
        ("NQ", "json: cannot unmarshal number into Go value of type storage.continueToken"),
        ("%%%", "illegal base64 data at input byte 0"),
        ("e30=", "illegal base64 data at input byte 3"),
        ("eyJ2IjoibWV0YSJ9", "server does not recognize this encoded version meta"),
        ("a" * 5000, "invalid character "),
    ],
    ids=["text", "{}", "null", "[]", "5", "percent", "padded", "other version", "long"],
)
def test_a_token_that_was_not_given_out_is_refused(space: Space, token: str, why: str) -> None:
    answer = space.secrets.list(limit=1, continue_=token)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message.startswith(f"invalid continue token: continue key is not valid: {why}")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rv": 0}, "incorrect encoded start resourceVersion (version "),
        ({"start": ""}, "encoded start key empty (version "),
        ({"start": "../x"}, "../x"),
        ({"rv": "x"}, "json: cannot unmarshal string into Go struct field continueToken.rv of"),
    ],
)
def test_a_token_that_was_changed_is_refused(space: Space, changes: Any, why: str) -> None:
    space.secrets.create_all(*"ab")
    token = _tampered(token_of(space.secrets.list(limit=1)), **changes)
    answer = space.secrets.list(limit=1, continue_=token)
    assert answer.status == 400
    assert answer.message.startswith(f"invalid continue token: continue key is not valid: {why}")


def test_a_token_with_its_end_cut_off_is_refused(space: Space) -> None:
    space.secrets.create_all(*"ab")
    token = token_of(space.secrets.list(limit=1))
    for cut in range(1, 6):
        assert space.secrets.list(limit=1, continue_=token[:-cut]).status == 400


def test_a_token_of_the_future_is_refused(space: Space) -> None:
    space.secrets.create_all(*"ab")
    token = token_of(space.secrets.list(limit=1))
    answer = space.secrets.list(limit=1, continue_=_tampered(token, rv=2**62))
    assert answer.status == 400


def test_a_token_of_another_namespace_goes_on_in_the_one_that_is_listed(space: Space) -> None:
    space.secrets.create_all(*"xyz")
    other = Space(space.server, space.client)
    other.secrets.create_all(*"wxy")
    token = token_of(space.secrets.list(limit=1))
    assert other.secrets.list(limit=9, continue_=_tampered(token, rv=-1)).names == ["y"]


def test_a_token_can_be_kept_across_a_restart(fresh_server: Any) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    space.secrets.create_all(*"abc")
    first = space.secrets.list(limit=1)
    space.secrets.remove("b")
    assert server.stop() == 0
    server.start()
    collection = Collection(server.client(), space.secrets.path)
    rest = collection.list(limit=9, continue_=token_of(first))
    assert (rest.names, rest.version) == (["b", "c"], first.version)


def test_without_the_gate_lists_come_whole(fresh_server: Any) -> None:
    server = fresh_server("--feature-gates", "APIListChunking=false")
    space = Space(server, server.client())
    space.secrets.create_all(*"abc")
    answer = space.secrets.list(limit=1)
    assert answer.names == ["a", "b", "c"]
    assert set(answer.body["metadata"]) == {"resourceVersion"}
    assert space.secrets.list(limit=1, continue_="nonsense").names == ["a", "b", "c"]
