"""The notation of the type tables, and the tables themselves against the reference's facts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import ListOf, MapOf, Presence, Scalar, Struct, at, structs
from fairlead.codec.types.notation import NotationError, Structs, parse

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "types.json"
TABLES = sorted(
    path.name.removesuffix(".types").replace("-", "/", 1)
    for path in files("fairlead.codec.types.builtin").iterdir()
    if path.name.endswith(".types")
)


def read(text: str, **others: dict[str, Struct]) -> dict[str, Struct]:
    meta = BuiltinTypes(KUBERNETES).group_version("meta/v1")
    return parse("test/v1", text, lambda name: {"meta/v1": meta, **others}[name])


def test_fields_have_a_type_a_presence_and_a_number() -> None:
    struct = read("""
Thing
  name   string!   1
  count  int32?    2
  note   string    3
  when   Time?!    4
""")["Thing"]
    presences = [(field.name, field.presence, field.number) for field in struct.fields.values()]
    assert presences == [
        ("name", Presence.ALWAYS, 1),
        ("count", Presence.DISTINCT, 2),
        ("note", Presence.OMITTED, 3),
        ("when", Presence.NULLABLE, 4),
    ]
    assert struct.fields["name"].required
    assert struct.fields["count"].type == Scalar("int32")


def test_lists_and_maps_nest() -> None:
    struct = read("Thing\n  a  [string]  1\n  b  {[int64]}  2\n")["Thing"]
    outer = struct.fields["b"].type
    assert isinstance(struct.fields["a"].type, ListOf)
    assert isinstance(outer, MapOf)
    assert isinstance(outer.element, ListOf)
    assert outer.element.element == Scalar("int64")


def test_types_refer_to_later_ones_and_to_themselves() -> None:
    types = read("Tree\n  left  Tree?  1\n  leaf  Leaf?  2\n\nLeaf\n  x  string  1\n")
    assert types["Tree"].fields["left"].type is types["Tree"]
    assert types["Tree"].fields["leaf"].type is types["Leaf"]
    assert {struct.name for struct in structs(types["Tree"])} == {"Tree", "Leaf"}


def test_a_kind_has_type_meta_and_a_list() -> None:
    types = read("Thing kind\n  metadata  meta/v1.ObjectMeta  1\n")
    assert {"apiVersion", "kind", "metadata"} == set(types["Thing"].fields)
    items = types["ThingList"].fields["items"]
    assert isinstance(items.type, ListOf)
    assert items.type.element is types["Thing"]
    assert items.required


def test_marks_tell_how_lists_and_maps_merge() -> None:
    struct = read("""
Thing
  a  [Part]    1  merge=name
  b  [string]  2  merge
  c  [Part]    3  list=map:name,kind merge=name retainKeys
  d  [string]  4  list=set
  e  {string}  5  map=atomic
  f  [string]  6

Part atomic
  name  string  1
  kind  string  2
""")
    kinds = {
        name: (field.type.kind, field.type.keys)
        for name, field in struct["Thing"].fields.items()
        if isinstance(field.type, ListOf)
    }
    assert kinds == {
        "a": ("map", ("name",)),
        "b": ("set", ()),
        "c": ("map", ("name", "kind")),
        "d": ("set", ()),
        "f": ("atomic", ()),
    }
    assert struct["Thing"].fields["c"].retain_keys
    assert isinstance(struct["Thing"].fields["e"].type, MapOf)
    assert struct["Thing"].fields["e"].type.atomic
    assert struct["Part"].atomic


def test_defaults_and_enums_are_values() -> None:
    fields = read(
        "Thing\n  a  string  1  default=Always enum=Always|Never\n  b  int32?  2  default=5\n"
        '  c  bool?  3  default=false\n  d  {string}  4  default={"x":"y"}\n'
    )["Thing"].fields
    assert [field.default for field in fields.values()] == ["Always", 5, False, {"x": "y"}]
    assert fields["a"].enum == ("Always", "Never")


def test_fields_share_an_enum_by_its_name() -> None:
    table = "enum Day MON|TUE\nThing\n  a  string  1  enum=Day\n  b  [string]  2  enum=Day\n"
    fields = read(table)["Thing"].fields
    assert fields["a"].enum == fields["b"].enum == ("MON", "TUE")


def test_fields_of_an_embedded_struct_stand_where_it_stands() -> None:
    types = read(
        "A\n  x  int32  1\n  b  ...B  2\n  z  int32  3\n\nB\n  y  ...C  1\n\nC\n  c  string  1\n"
    )
    assert list(types["A"].fields) == ["x", "c", "z"]


def test_an_embedded_struct_lies_flat() -> None:
    types = read("Probe\n  handler  ...Handler  1\n  x  int32  2\n\nHandler\n  exec  string  1\n")
    assert set(types["Probe"].fields) == {"exec", "x"}
    assert types["Probe"].embedded["handler"].struct is types["Handler"]


def test_comments_and_empty_lines_do_not_count() -> None:
    assert set(read("# a comment\n\nThing\n  # another\n  a  string  1\n")["Thing"].fields) == {"a"}


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(NotationError, match=r"test/v1: no type Nothing"):
        read("Thing\n  a  Nothing  1\n")


def test_a_path_leads_through_lists_and_maps() -> None:
    pod = BuiltinTypes(KUBERNETES).struct("core/v1.Pod")
    assert at(pod, "spec.containers.image").type == Scalar("string")
    with pytest.raises(KeyError):
        at(pod, "spec.nothing")


@pytest.mark.parametrize("dialect", [KUBERNETES, CLUSTER], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("table", TABLES)
def test_every_table_loads_and_every_type_decodes_nothing(table: str, dialect: Dialect) -> None:
    types = BuiltinTypes(dialect).group_version(table)
    assert types
    for struct in types.values():
        empty = decoder(struct)({}, [])
        assert decoder(struct)(empty, []) == empty
        always = {f.name for f in struct.fields.values() if f.presence is Presence.ALWAYS}
        assert always <= set(empty)


@pytest.mark.parametrize("table", TABLES)
def test_numbers_are_not_given_twice(table: str) -> None:
    for struct in BuiltinTypes(KUBERNETES).group_version(table).values():
        inner = {name for part in struct.embedded.values() for name in part.struct.fields}
        numbers = [
            field.number
            for field in struct.fields.values()
            if field.number and field.name not in inner
        ]
        assert len(numbers) == len(set(numbers)), struct


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not there: the types are not compared")
    parsed: dict[str, Any] = json.loads(REFERENCE.read_text())
    return {name: facts for name, facts in parsed.items() if "." in name and "fields" in facts}


def test_every_type_of_the_reference_is_there_with_its_fields(reference: dict[str, Any]) -> None:
    types = BuiltinTypes(KUBERNETES)
    wrong = []
    for name, facts in reference.items():
        table, _, short = name.rpartition(".")
        struct = types.group_version(table).get(short) if table in TABLES else None
        if struct is None:
            wrong.append(f"{name} is missing")
            continue
        wrong += [f"{name}.{field}" for field in set(facts["fields"]) ^ set(struct.fields)]
    assert wrong == []


def test_fields_have_the_numbers_of_the_reference(reference: dict[str, Any]) -> None:
    types = BuiltinTypes(KUBERNETES)
    wrong = []
    for name, facts in reference.items():
        struct = types.struct(name)
        for field, row in facts["fields"].items():
            result = struct.fields[field].number
            if row.get("num") and result and result != row["num"]:
                wrong.append(f"{name}.{field}: {result} instead of {row['num']}")
    assert wrong == []


def test_fields_are_read_when_a_struct_is_asked_for_that_refers_to_them() -> None:
    text = "A\n b B 1\nB\n c [C] 1\nC\n x string 1\nD\n a A 1\n"
    structs = Structs("test/v1", text, lambda name: {})
    assert sorted(structs) == ["A", "B", "C", "D"]
    assert structs["B"].fields["c"]
    assert sorted(structs.unread) == ["A", "D"]
    result = structs["A"].fields["b"].type
    assert result is structs["B"]


def test_threads_that_ask_at_once_get_whole_structs() -> None:
    names = sorted(BuiltinTypes(KUBERNETES).group_version("core/v1"))
    for _ in range(3):
        types = BuiltinTypes(KUBERNETES)

        def fields(name: str, types: BuiltinTypes = types) -> int:
            return len(types.struct(f"core/v1.{name}").fields)

        with ThreadPoolExecutor(8) as pool:
            counts = list(pool.map(fields, [*names, *reversed(names)]))
        assert counts[: len(names)] == counts[: len(names) - 1 : -1]
        assert counts[: len(names)] == [fields(name) for name in names]
