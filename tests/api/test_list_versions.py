"""The list table of document 1: every cell of resourceVersion, resourceVersionMatch and limit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.client import Answer, Query
from support.namespaces import Space

NEEDS_VERSION = "resourceVersionMatch is forbidden unless resourceVersion is provided"
NOT_EXACTLY_0 = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'


@dataclass
class History:
    """Secrets a, b, c as they were at `old`; then b went, d came and c got a label."""

    space: Space
    old: str
    now: str

    def list(self, **query: Query) -> Answer:
        return self.space.secrets.list(**query)

    def is_newest(self, answer: Answer) -> bool:
        """Whether a list is at least as new as all these writes."""
        return int(answer.version) >= int(self.now)


OLD, NOW = ["a", "b", "c"], ["a", "c", "d"]


@pytest.fixture
def history(space: Space) -> History:
    space.secrets.create_all("a", "b", "c")
    old = space.secrets.version()
    space.secrets.remove("b")
    space.secrets.create("d")
    last = space.secrets.label("c", changed="yes")
    return History(space, old, last["metadata"]["resourceVersion"])


def test_no_match_no_limit_unset_is_most_recent(history: History) -> None:
    answer = history.list()
    assert answer.names == NOW
    assert history.is_newest(answer)


def test_no_match_no_limit_0_is_any(history: History) -> None:
    answer = history.list(resourceVersion="0")
    assert answer.names == NOW
    assert history.is_newest(answer)


def test_no_match_no_limit_other_is_not_older_than(history: History) -> None:
    answer = history.list(resourceVersion=history.old)
    assert answer.names == NOW
    assert int(answer.version) >= int(history.old)


def test_no_match_limit_unset_is_most_recent(history: History) -> None:
    answer = history.list(limit=2)
    assert answer.names == NOW[:2]
    assert history.is_newest(answer)
    assert answer.body["metadata"]["continue"]


def test_no_match_limit_0_is_any_and_comes_whole(history: History) -> None:
    answer = history.list(limit=2, resourceVersion="0")
    assert answer.names == NOW
    assert "continue" not in answer.body["metadata"]


def test_no_match_limit_other_is_exact(history: History) -> None:
    answer = history.list(limit=2, resourceVersion=history.old)
    assert (answer.names, answer.version) == (OLD[:2], history.old)
    more = history.list(limit=2, continue_=answer.body["metadata"]["continue"])
    assert (more.names, more.version) == (OLD[2:], history.old)


def test_no_match_continue_unset_goes_on_in_the_snapshot(history: History) -> None:
    token = history.list(limit=1, resourceVersion=history.old).body["metadata"]["continue"]
    answer = history.list(limit=5, continue_=token)
    assert (answer.names, answer.version) == (OLD[1:], history.old)


def test_no_match_continue_with_0_counts_as_continue(history: History) -> None:
    token = history.list(limit=1, resourceVersion=history.old).body["metadata"]["continue"]
    answer = history.list(limit=5, continue_=token, resourceVersion="0")
    assert (answer.names, answer.version) == (OLD[1:], history.old)


def test_a_token_is_read_before_the_version_beside_it(history: History) -> None:
    answer = history.list(limit=1, continue_="e30", resourceVersion=history.old)
    assert answer.message.startswith("invalid continue token: ")


def test_no_match_continue_with_another_version_is_invalid(history: History) -> None:
    token = history.list(limit=1).body["metadata"]["continue"]
    answer = history.list(limit=1, continue_=token, resourceVersion=history.old)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message == "specifying resource version is not allowed when using continue"


def test_no_match_a_broken_token_is_told_before_the_version_with_it(history: History) -> None:
    answer = history.list(limit=1, continue_="abc", resourceVersion=history.old)
    assert answer.status == 400
    assert answer.message.startswith("invalid continue token: continue key is not valid: ")


@pytest.mark.both_dialects
@pytest.mark.parametrize("limit", [None, 2], ids=["no limit", "limit"])
@pytest.mark.parametrize("match", ["Exact", "NotOlderThan"])
def test_a_match_without_a_version_is_invalid(
    history: History, match: str, limit: int | None
) -> None:
    query: dict[str, Query] = {"limit": limit} if limit else {}
    answer = history.list(resourceVersionMatch=match, **query)
    assert answer.status == 422
    assert answer.message == (
        f'ListOptions.{history.space.dialect.meta_group} "" is invalid: resourceVersionMatch:'
        f" Forbidden: {NEEDS_VERSION}"
    )
    assert answer.causes == [
        ("resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {NEEDS_VERSION}")
    ]


@pytest.mark.parametrize("limit", [None, 2], ids=["no limit", "limit"])
def test_exactly_0_is_invalid(history: History, limit: int | None) -> None:
    query: dict[str, Query] = {"limit": limit} if limit else {}
    answer = history.list(resourceVersionMatch="Exact", resourceVersion="0", **query)
    assert answer.status == 422
    assert answer.causes == [
        ("resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {NOT_EXACTLY_0}")
    ]


def test_exact_no_limit_gives_that_very_version(history: History) -> None:
    answer = history.list(resourceVersionMatch="Exact", resourceVersion=history.old)
    assert (answer.names, answer.version) == (OLD, history.old)
    assert "labels" not in answer.body["items"][2]["metadata"]


def test_exact_with_limit_gives_pages_of_that_very_version(history: History) -> None:
    answer = history.list(resourceVersionMatch="Exact", resourceVersion=history.old, limit=2)
    assert (answer.names, answer.version) == (OLD[:2], history.old)
    assert answer.body["metadata"]["remainingItemCount"] == 1


def test_not_older_than_no_limit_0_is_any(history: History) -> None:
    answer = history.list(resourceVersionMatch="NotOlderThan", resourceVersion="0")
    assert answer.names == NOW


def test_not_older_than_no_limit_other_is_at_least_as_new(history: History) -> None:
    answer = history.list(resourceVersionMatch="NotOlderThan", resourceVersion=history.old)
    assert answer.names == NOW
    assert int(answer.version) >= int(history.old)


def test_not_older_than_with_limit_0_is_any(history: History) -> None:
    answer = history.list(resourceVersionMatch="NotOlderThan", resourceVersion="0", limit=1)
    assert answer.names == NOW


def test_not_older_than_with_limit_other_is_a_page_of_the_newest(history: History) -> None:
    answer = history.list(resourceVersionMatch="NotOlderThan", resourceVersion=history.old, limit=1)
    assert answer.names == NOW[:1]
    assert history.is_newest(answer)
    assert answer.body["metadata"]["remainingItemCount"] == 2


def test_a_match_with_continue_is_invalid(history: History) -> None:
    token = history.list(limit=1).body["metadata"]["continue"]
    answer = history.list(
        limit=1, continue_=token, resourceVersionMatch="NotOlderThan", resourceVersion="0"
    )
    assert answer.status == 422
    assert (
        "resourceVersionMatch",
        "FieldValueForbidden",
        "Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ) in answer.causes


def test_an_unknown_match_is_invalid(history: History) -> None:
    answer = history.list(resourceVersionMatch="Newer", resourceVersion=history.old)
    assert answer.status == 422
    assert answer.causes == [
        (
            "resourceVersionMatch",
            "FieldValueNotSupported",
            'Unsupported value: "Newer": supported values: "Exact", "NotOlderThan", ""',
        )
    ]


def test_all_that_is_wrong_with_a_watch_that_matches_is_told(history: History) -> None:
    answer = history.list(watch=1, resourceVersionMatch="Exact", resourceVersion="0")
    assert [message for _, _, message in answer.causes] == [
        "Forbidden: resourceVersionMatch is forbidden for watch",
        f"Forbidden: {NOT_EXACTLY_0}",
    ]


def test_a_too_large_version_is_504_with_a_time_to_retry(cluster: Space) -> None:
    future = int(cluster.secrets.version()) + 1000
    answer = cluster.secrets.list(resourceVersionMatch="NotOlderThan", resourceVersion=future)
    assert (answer.status, answer.headers["Retry-After"]) == (504, "1")
    assert f"Too large resource version: {future}, current: " in answer.message
    assert answer.causes == [("", "ResourceVersionTooLarge", "Too large resource version")]


def test_exactly_a_version_of_the_future_is_too_large_too(space: Space) -> None:
    future = int(space.secrets.version()) + 1000
    answer = space.secrets.list(resourceVersionMatch="Exact", resourceVersion=future)
    assert answer.status == 504
    assert "Too large resource version" in answer.message


@pytest.mark.parametrize("version", ["abc", "-1", "1.5", "99999999999999999999999"])
def test_a_version_that_is_no_version_is_refused(space: Space, version: str) -> None:
    answer = space.secrets.list(resourceVersion=version)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message.startswith(f'resourceVersion: Invalid value: "{version}": ')


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": "abc"}, "abc"),
        ({"limit": "1.5"}, "1.5"),
        ({"timeoutSeconds": "soon"}, "soon"),
        ({"watch": "1", "timeoutSeconds": "1.5"}, "1.5"),
    ],
)
def test_numbers_must_be_numbers(space: Space, query: dict[str, str], text: str) -> None:
    answer = space.secrets.list(**query)
    assert answer.status == 400
    assert answer.message == f'strconv.ParseInt: parsing "{text}": invalid syntax'


@pytest.mark.parametrize("limit", ["-1", "0"])
def test_a_limit_that_limits_nothing_lists_all(space: Space, limit: str) -> None:
    space.secrets.create_all("a", "b")
    answer = space.secrets.list(limit=limit)
    assert answer.names == ["a", "b"]
    assert set(answer.body["metadata"]) == {"resourceVersion"}


def test_an_unknown_parameter_is_ignored(space: Space) -> None:
    assert space.secrets.list(unknownParameter="1").status == 200


def test_a_list_has_the_shape_of_a_collection(space: Space) -> None:
    space.secrets.create_all("b", "a")
    body = space.secrets.list().body
    assert (body["kind"], body["apiVersion"]) == ("SecretList", "v1")
    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "b"]
    assert all("kind" not in item and "apiVersion" not in item for item in body["items"])


def test_a_list_of_nothing_has_no_items(space: Space) -> None:
    body = space.secrets.list().body
    assert body["items"] == []


def test_items_carry_the_version_of_their_own_last_change(history: History) -> None:
    items = {item["metadata"]["name"]: item["metadata"] for item in history.list().body["items"]}
    assert int(items["a"]["resourceVersion"]) < int(history.old)
    assert items["c"]["resourceVersion"] == history.now


def test_a_namespaced_type_is_listed_across_all_namespaces(space: Space) -> None:
    other = Space(space.server, space.client)
    space.secrets.create("a", labels={"across": space.name})
    other.secrets.create("b", labels={"across": space.name})
    answer = space.everywhere("secrets").list(labelSelector=f"across={space.name}")
    results = {
        (item["metadata"]["namespace"], item["metadata"]["name"]) for item in answer.body["items"]
    }
    assert results == {(space.name, "a"), (other.name, "b")}


def test_namespaces_are_a_cluster_scoped_type(space: Space) -> None:
    assert space.name in space.everywhere("namespaces").names()


def test_a_path_may_end_in_a_slash(space: Space) -> None:
    space.secrets.create("a")
    assert space.client.get(space.secrets.path + "/").names == ["a"]


@pytest.mark.parametrize("query", [{"limit": 2}, {"resourceVersionMatch": "Exact"}])
def test_a_version_that_is_none_is_refused_by_the_store_if_no_cache_can_answer(
    space: Space, query: dict[str, Query]
) -> None:
    answer = space.secrets.list(resourceVersion="abc", **query)
    why = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    assert (answer.status, answer.message) == (400, f"invalid resource version: {why}")


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
def test_an_empty_number_is_refused(space: Space, name: str) -> None:
    answer = space.client.get(f"{space.secrets.path}?{name}=")
    assert answer.status == 400
    assert answer.message == 'strconv.ParseInt: parsing "": invalid syntax'


def test_a_full_page_of_selected_objects_continues_if_any_object_follows(space: Space) -> None:
    """The reference does not look for further objects that are selected."""
    space.secrets.create("a", labels={"x": "1"})
    space.secrets.create_all("b", "z")
    space.secrets.create("c", labels={"x": "1"})
    first = space.secrets.list(limit=1, labelSelector="x")
    token = first.body["metadata"]["continue"]
    second = space.secrets.list(limit=1, labelSelector="x", continue_=token)
    assert (first.names, second.names) == (["a"], ["c"])
    third = space.secrets.list(
        limit=1, labelSelector="x", continue_=second.body["metadata"]["continue"]
    )
    assert (third.names, "continue" in third.body["metadata"]) == ([], False)
    last = space.secrets.list(limit=1, fieldSelector="metadata.name=a")
    assert "continue" not in last.body["metadata"]
