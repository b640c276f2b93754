"""Every type and field has a text for `kubectl explain`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import pytest

from fairlead.base.dialect import CLUSTER, DIALECTS, Dialect
from fairlead.base.release import RELEASES
from fairlead.codec.types import builtin
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.descriptions import Texts, parse_texts
from fairlead.codec.types.model import Struct

LONGEST = 160
TABLES = sorted(
    file.name.removesuffix(".types").replace("-", "/")
    for file in files(builtin).iterdir()
    if file.name.endswith(".types")
)


def types_of(table: str, dialect: Dialect = CLUSTER) -> Iterator[Struct]:
    """The types of all releases."""
    for release in RELEASES.values():
        yield from BuiltinTypes(dialect, release).group_version(table).values()


@pytest.mark.parametrize("table", TABLES)
def test_every_type_says_what_it_is(table: str) -> None:
    texts = Texts(CLUSTER)
    assert [struct for struct in types_of(table) if not texts.of_type(struct)] == []


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("table", TABLES)
def test_every_field_says_what_it_is_for(table: str, dialect: Dialect) -> None:
    texts = Texts(dialect)
    silent = [
        f"{struct.name}.{name}"
        for struct in types_of(table, dialect)
        for name in struct.fields
        if not texts.of_field(struct, name)
    ]
    assert silent == []


@pytest.mark.parametrize("table", TABLES)
def test_texts_are_short_sentences(table: str) -> None:
    texts = Texts(CLUSTER)
    for struct in types_of(table):
        messages = [
            texts.of_type(struct),
            *(texts.of_field(struct, name) for name in struct.fields),
        ]
        for text in messages:
            assert text[0].isupper() or text[0].isdigit() or text.split()[0].islower(), text
            assert text.endswith("."), text
            assert len(text) <= LONGEST, text


@pytest.mark.parametrize("table", TABLES)
def test_texts_speak_of_types_and_fields_that_exist(table: str) -> None:
    file = files(builtin).joinpath(table.replace("/", "-") + ".texts")
    if not file.is_file():
        assert any("like" in line for line in type_lines(table))
        return
    known: dict[str, set[str]] = {}
    for struct in types_of(table):
        known.setdefault(struct.name, set()).update(struct.fields)
    written = parse_texts(file.read_text().replace("x-@-", CLUSTER.marked("x-@-")))
    for name, block in written.exact.items():
        assert name in known
        assert set(block.fields) <= known[name], name
    if table == "meta/v1":
        return  # its patterns speak of all tables
    for block in written.patterns:
        matched = [name for name in known if block.describes(name)]
        fields = {field for name in matched for field in known[name]}
        assert matched, block
        assert set(block.fields) <= fields, block


def type_lines(table: str) -> list[str]:
    return files(builtin).joinpath(table.replace("/", "-") + ".types").read_text().splitlines()


def test_an_exact_name_comes_before_a_pattern() -> None:
    table = parse_texts("*Set  A set.\n  size  Any.\n\nReplicaSet  Pods.\n  size  Pods of it.\n")
    blocks = table.blocks("ReplicaSet")
    assert [block.text for block in blocks] == ["Pods.", "A set."]
    assert blocks[0].fields == {"size": "Pods of it."}
