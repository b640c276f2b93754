"""Tables of custom resources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from support.client import Answer
from support.definitions import Kind, version
from support.namespaces import Space
from support.waiting import eventually


def cells_of(kind: Kind, **query: Any) -> Answer:
    accept = f"application/json;as=Table;v=v1;g={kind.space.dialect.meta_group}"
    return kind.client.get(kind.collection().path, headers={"Accept": accept}, **query)


def columned(space: Space, *columns: dict[str, Any]) -> Kind:
    return Kind(space, version(additionalPrinterColumns=list(columns))).install()


def column(path: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": "Shown", "type": kind, "jsonPath": path, **more}


def test_without_columns_name_and_age_are_shown(kubernetes: Space, cluster: Space) -> None:
    for space, second in ((kubernetes, "Age"), (cluster, "Created At")):
        kind = columned(space)
        kind.create("a")
        body = cells_of(kind).body
        assert [definition["name"] for definition in body["columnDefinitions"]] == ["Name", second]
        assert body["rows"][0]["cells"][0] == "a"


def test_columns_have_what_their_definition_says(space: Space) -> None:
    kind = columned(space, column(".spec.size", "integer", priority=1, format="int32"))
    kind.create("a", spec={"size": 3})
    body = cells_of(kind).body
    definition = body["columnDefinitions"][1]
    assert (definition["type"], definition["format"], definition["priority"]) == (
        "integer",
        "int32",
        1,
    )
    assert body["rows"][0]["cells"] == ["a", 3]


@pytest.mark.parametrize(
    ("expected", "spec", "cell"),
    [
        (column(".spec.size"), {"size": 3}, "3"),
        (column(".spec.owner"), {"owner": {"name": "n"}}, '{"name":"n"}'),
        (column(".spec.color", "integer"), {"color": "red"}, None),
        (column(".spec.size", "number"), {"size": 3}, 3),
        (column(".spec.size", "boolean"), {"size": 1}, None),
        (column(".spec.color"), {}, None),
        (column(".spec.since", "date"), {"since": "yesterday"}, "<invalid>"),
        (column(".spec.color[[["), {"color": "red"}, None),
        (column(".spec.owner"), {"owner": {"name": "a>"}}, '{"name":"a\\u003e"}'),
        (column(".spec.color extra"), {"color": "red"}, None),
        (column(".spec.color[0]"), {"color": "red"}, None),
    ],
)
def test_a_cell_is_what_its_column_can_show(
    kubernetes: Space, expected: dict[str, Any], spec: dict[str, Any], cell: Any
) -> None:
    kind = columned(kubernetes, expected)
    kind.create("a", spec=spec)
    result = cells_of(kind).body["rows"][0]["cells"][1]
    assert (result, type(result)) == (cell, type(cell))


@pytest.mark.parametrize(("huge", "cell"), [(1e21, 2**63 - 1), (-1e21, -(2**63))])
def test_an_integer_has_64_bits(kubernetes: Space, huge: float, cell: int) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    api_version = version(
        schema={"openAPIV3Schema": schema},
        additionalPrinterColumns=[column(".spec.huge", "integer")],
    )
    kind = Kind(kubernetes, api_version).install()
    kind.create("a", spec={"huge": huge})
    assert cells_of(kind).body["rows"][0]["cells"][1] == cell


def test_a_date_is_an_age(kubernetes: Space) -> None:
    kind = columned(kubernetes, column(".spec.since", "date"))
    year = datetime.now(UTC).year - 3
    kind.create("a", spec={"since": f"{year}-01-01T00:00:00Z"})
    assert cells_of(kind).body["rows"][0]["cells"][1].startswith("3y")


def test_a_watch_shows_rows_too(kubernetes: Space) -> None:
    kind = columned(kubernetes, column(".spec.size", "integer"))
    accept = f"application/json;as=Table;v=v1;g={kubernetes.dialect.meta_group}"
    with kind.client.watch(kind.collection().path, headers={"Accept": accept}) as watch:
        kind.create("a", spec={"size": 3})
        assert watch.next().object["rows"][0]["cells"] == ["a", 3]


def test_rows_follow_a_change_of_the_columns(kubernetes: Space) -> None:
    kind = columned(kubernetes, column(".spec.size", "integer"))
    kind.create("a", spec={"size": 3, "color": "red"})
    assert cells_of(kind).body["rows"][0]["cells"] == ["a", 3]
    kind.set_versions(version(additionalPrinterColumns=[column(".spec.color")]))
    eventually(
        lambda: cells_of(kind).body["rows"][0]["cells"] == ["a", "red"], "the other column is shown"
    )


def test_a_column_can_show_any_part_of_the_object(kubernetes: Space) -> None:
    columns = (
        column(".metadata.managedFields[0].operation"),
        column(".kind"),
        column(".metadata.resourceVersion"),
    )
    kind = columned(kubernetes, *columns)
    revision = kind.create("a", spec={"size": 3})["metadata"]["resourceVersion"]
    cells = ["a", "Update", kind.kind, revision]
    assert cells_of(kind).body["rows"][0]["cells"] == cells
