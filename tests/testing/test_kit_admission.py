"""Python functions as webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.client.errors import ApiError, Forbidden, Invalid
from fairlead.testing import Cluster, Denied

Object = dict[str, Any]


@pytest.fixture(scope="session")
def _other_dialect() -> Iterator[Cluster]:
    with Cluster(dialect="cluster") as cluster:
        yield cluster


@pytest.fixture(params=["kubernetes", "cluster"])
def any_kit(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    name = {"kubernetes": "shared_kit", "cluster": "_other_dialect"}[request.param]
    cluster: Cluster = request.getfixturevalue(name)
    with cluster.snapshot():
        yield cluster


def _make(kit: Cluster, name: str, **data: str) -> Object:
    return kit.admin.resource("configmaps").create({"metadata": {"name": name}, "data": data})


def _configured(kit: Cluster) -> int:
    kinds = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
    return sum(len(kit.admin.resource(kind).list()["items"]) for kind in kinds)


def test_a_function_that_validates_refuses_by_false_a_text_or_an_exception(
    any_kit: Cluster,
) -> None:
    def judge(value: Object) -> Any:
        wanted = (value.get("data") or {}).get("say")
        if wanted == "raise":
            raise Denied("by an exception")
        return {"text": "by a text", "false": False, "true": True, None: None}[wanted]

    with any_kit.admission(judge, resources=["configmaps"]) as admission:
        for message, answered in (
            ("raise", "by an exception"),
            ("text", "by a text"),
            ("false", "refused by a function of the test"),
        ):
            with pytest.raises(Forbidden, match=f"denied the request: {answered}"):
                _make(any_kit, message, say=message)
        _make(any_kit, "true", say="true")
        _make(any_kit, "none")
    created = ["raise", "text", "false", "true", "none"]
    # Controllers may publish ConfigMaps of their own meanwhile.
    assert [call["name"] for call in admission.calls if call["name"] in created] == created
    assert not admission.failures
    _make(any_kit, "raise", say="raise")


def test_a_function_that_mutates_changes_the_object_or_gives_another(any_kit: Cluster) -> None:
    def change(value: Object) -> None:
        value["metadata"].setdefault("labels", {})["a/b"] = "set"
        value["data"]["list"] = value["data"].pop("old")

    with any_kit.admission(change, resources=["configmaps"], mutating=True):
        item = _make(any_kit, "changed", old="1", kept="2")
    assert item["data"] == {"list": "1", "kept": "2"}
    assert item["metadata"]["labels"] == {"a/b": "set"}

    def replace(value: Object) -> Object:
        return {**value, "data": {"all": "new"}}

    with any_kit.admission(replace, resources=["configmaps"], mutating=True):
        assert _make(any_kit, "replaced", old="1")["data"] == {"all": "new"}


def test_it_gets_the_request_if_it_takes_two(kit: Cluster, space: str) -> None:
    async def judge(value: Object, request: Object) -> Any:
        return f"{request['operation']} by {request['userInfo']['username']}"

    kit.admin.resource("configmaps").create({"metadata": {"name": "a"}}, space)
    kit.admission(judge, resources=["configmaps"], operations=["DELETE"], failurePolicy="Fail")
    with pytest.raises(Forbidden, match="DELETE by admin"):
        kit.admin.resource("configmaps").delete("a", space)


def test_what_a_function_raises_is_its_failure(kit: Cluster) -> None:
    def broken(value: Object) -> None:
        raise KeyError("nothing")

    with kit.admission(broken, resources=["configmaps"]) as admission:
        with pytest.raises(ApiError, match="failed calling webhook") as refused:
            _make(kit, "a")
        assert refused.value.code == 500
        assert isinstance(admission.failures[0], KeyError)
    with kit.admission(broken, resources=["configmaps"], failurePolicy="Ignore"):
        assert _make(kit, "a")


def test_what_is_no_object_is_a_failure_of_one_that_mutates(kit: Cluster) -> None:
    admission = kit.admission(lambda value: 7, resources=["configmaps"], mutating=True)
    with pytest.raises(ApiError, match="failed calling webhook"):
        _make(kit, "a")
    assert isinstance(admission.failures[0], TypeError)


def test_two_work_at_once_and_end_also_after_a_failure(kit: Cluster) -> None:
    def first(value: Object) -> None:
        value["data"]["first"] = "yes"

    def second(value: Object) -> Any:
        return value["data"].get("first") == "yes"

    def test() -> None:
        with (
            kit.admission(first, resources=["configmaps"], mutating=True),
            kit.admission(second, resources=["configmaps"]) as judging,
        ):
            assert _make(kit, "both", a="b")["data"] == {"a": "b", "first": "yes"}
            assert [call["name"] for call in judging.calls].count("both") == 1
            assert _configured(kit) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        test()
    assert _configured(kit) == 0


def test_what_cannot_be_configured_is_refused(kit: Cluster) -> None:
    with pytest.raises(Invalid, match="failurePolicy"):
        kit.admission(lambda value: True, failurePolicy="Perhaps")
    assert _configured(kit) == 0
