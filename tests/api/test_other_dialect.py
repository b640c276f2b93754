"""Clients of the other dialect get an error that names the dialect they need."""

from __future__ import annotations

import pytest
from support.namespaces import Space
from support.process import ServerProcess

from fairlead.base.dialect import DIALECTS, Dialect


@pytest.fixture
def other(any_server: ServerProcess) -> Dialect:
    return next(other for other in DIALECTS.values() if other is not any_server.dialect)


@pytest.mark.both_dialects
@pytest.mark.parametrize("path", ["", "/v1", "/v1/clusterroles", "/v1/clusterroles/x"])
def test_a_group_of_the_other_dialect_is_404_and_names_it(
    space: Space, other: Dialect, path: str
) -> None:
    group = other.group_name("rbac.authorization.@")
    answer = space.client.request("GET", f"/apis/{group}{path}")
    assert (answer.status, answer.body["reason"]) == (404, "NotFound")
    assert f"--dialect {other.name}" in answer.message


@pytest.mark.both_dialects
def test_other_unknown_groups_say_nothing_of_dialects(space: Space) -> None:
    answer = space.client.request("GET", "/apis/things.example.com/v1/things")
    assert (answer.status, answer.text) == (404, "404 page not found\n")


@pytest.mark.both_dialects
def test_bodies_in_the_other_protobuf_are_415_and_name_it(space: Space, other: Dialect) -> None:
    headers = {"Content-Type": other.protobuf_media_type}
    answer = space.client.request("POST", "/api/v1/namespaces", b"x", headers=headers)
    assert answer.status == 415
    assert f"--dialect {other.name}" in answer.message
    answer = space.client.request("DELETE", "/api/v1/namespaces/x", b"x", headers=headers)
    assert answer.status == 415
    assert f"--dialect {other.name}" in answer.message


@pytest.mark.both_dialects
def test_answers_in_the_other_protobuf_are_406_and_name_it(space: Space, other: Dialect) -> None:
    table = f"application/json;as=Table;v=v1;g={other.meta_group}"
    for accept in (other.protobuf_media_type, table):
        answer = space.client.request("GET", "/api/v1/namespaces", headers={"Accept": accept})
        assert answer.status == 406
        assert f"--dialect {other.name}" in answer.message


@pytest.mark.both_dialects
def test_other_media_types_say_nothing_of_dialects(space: Space) -> None:
    answer = space.client.request("GET", "/api/v1/namespaces", headers={"Accept": "text/html"})
    assert answer.status == 406
    assert "dialect" not in answer.message
