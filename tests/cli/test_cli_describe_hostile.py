"""`fairlead describe` of malformed objects."""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import Commands
from support.waiting import eventually

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.cli.describe.describer import draw_events
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import LAYOUTS, Layout, Subject, layout_of
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.queries import QueryResult
from fairlead.cli.errors import CommandFailed
from fairlead.client import ResourceType

_NEEDS_REQUEST = ("certificates.@", "CertificateSigningRequest")
_OBJECTS = Path(__file__).parent / "described"
_ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**19, 1e300),
    *("", "x\x1b[31m\r\n\t\x9b", "1e99999999", "9999-99-99", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59-12:00", [], {}, [None], [[]], ["a", 1, {}], {"": {"": []}}),
)


def layout(group: str, kind: str, dialect: Dialect = KUBERNETES) -> Layout:
    return layout_of(ResourceType(dialect.group_name(group), "v1", "", kind, True), dialect)


def drawn(layout: Layout, value: Any, related: list[Any], dialect: Dialect = KUBERNETES) -> str:
    """The description of an object; each question is answered with the same objects."""
    results = [Fields(item) for item in related]
    subject = Subject(value, dialect, dict.fromkeys(layout.related, QueryResult(results)))
    if "backends" in layout.related:
        subject.answers["backends"] = {}
    page = Page()
    layout.draw(page, subject)
    draw_events(page, results)
    return page.text()


def samples() -> list[dict[str, Any]]:
    files = sorted(_OBJECTS.glob("*.yaml"))
    return [item for file in files for item in yaml.safe_load_all(file.read_text()) if item]


@pytest.mark.parametrize("dialect", [KUBERNETES, CLUSTER], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(("group", "kind"), sorted(LAYOUTS.keys() - {_NEEDS_REQUEST}))
def test_an_object_of_any_kind_can_be_empty(group: str, kind: str, dialect: Dialect) -> None:
    assert drawn(layout(group, kind, dialect), {}, [{}, None], dialect).startswith("Name:")


@pytest.mark.parametrize("request_text", ["", "bm90aGluZw==", "!", "\u00e9"])
def test_a_request_that_cannot_be_read_is_told(request_text: str) -> None:
    wanted = layout(*_NEEDS_REQUEST)
    with pytest.raises(CommandFailed, match="is no signing request"):
        drawn(wanted, {"spec": {"request": request_text}}, [])


@pytest.mark.parametrize("seed", range(8))
def test_fields_of_any_type_anywhere(seed: int) -> None:
    chance = random.Random(seed)

    def broken(value: Any) -> Any:
        if chance.random() < 0.08:
            return deepcopy(chance.choice(_ODD))
        if isinstance(value, dict):
            return {key: broken(inside) for key, inside in value.items()}
        return [broken(inside) for inside in value] if isinstance(value, list) else value

    known = samples()
    for value in known:
        group = value["apiVersion"].rpartition("/")[0].replace(KUBERNETES.group_domain, "@")
        wanted = layout(group, value["kind"])
        changed = broken(value)
        whole = changed if isinstance(changed, dict) else {}
        text = drawn(wanted, whole, [broken(chance.choice(known)) for _ in range(3)])
        assert not {ord(letter) for letter in text} & {*range(10), *range(11, 32), 127, 0x9B}


@pytest.mark.both_dialects
def test_an_object_of_a_kind_that_nobody_knows(fairlead: Commands) -> None:
    space = fairlead.space
    marker = space.dialect.marked("x-@-preserve-unknown-fields")
    group = f"{space.name}.example.org"
    schema = {"openAPIV3Schema": {"type": "object", marker: True}}
    space.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"things.{group}",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )
    deep: Any = "end"
    for _ in range(60):
        deep = {"in": deep}
    fields = {"podIPs": ["a", None, 1.5], "escape": "\x1b[2J", "deep": deep, "HTTPGet": {}}
    collection = space.collection("things", group)
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "odd"}, **fields}
    eventually(
        lambda: collection.client.post(collection.path, body).status == 201, "the kind is served"
    )
    lines = fairlead("describe", f"things.{group}", "odd").splitlines()
    assert f"API Version:  {group}/v1" in [" ".join(line.split(" ")) for line in lines]
    assert lines[lines.index("Pod I Ps:") + 1 :][:3] == ["  a", "  <nil>", "  1.5"]
    assert any(line.split() == ["Escape:", "^[[2J"] for line in lines)
    assert "HTTP Get:" in lines


def test_a_role_that_stands_for_very_many_lines_is_cut_off() -> None:
    many = [f"x{number}" for number in range(1000)]
    rule = {"apiGroups": many, "resources": many, "resourceNames": many, "verbs": ["get"]}
    text = drawn(layout("rbac.authorization.@", "Role"), {"rules": [rule]}, [])
    assert len(text.splitlines()) < 25_000
    assert "\n  ...\n" in text


def test_text_of_others_cannot_take_hold_of_the_terminal(fairlead: Commands) -> None:
    notes = {"annotations": {"evil": "\x1b]0;title\x07\r"}}
    fairlead.space.config_maps.create("evil", metadata=notes, data={"k": "\x1b[31mred\x9b"})
    out = fairlead("describe", "cm", "evil")
    assert "evil: ^[]0;title^G\\r" in out
    assert "^[[31mred\\x9b" in out
    assert not set("\x1b\x07\r\x9b") & set(out)
