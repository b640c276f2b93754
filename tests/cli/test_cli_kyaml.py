"""`-o kyaml`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.commands import Commands

from fairlead.cli.output import kyaml

CONFIG_MAP = """\
---
{
  apiVersion: "v1",
  data: {
    empty: "",
    lines: "\\
       first\\n\\
      \\  second\\n\\
       \\n\\
       last\\
      ",
    "no": "yes",
  },
  kind: "ConfigMap",
  metadata: {
    name: "a",
    namespace: "NAMESPACE",
  },
}
"""
NESTED = {
    "cuddled": [{"a": 1}, {"b": [[]]}, {}],
    "mixed": [1, {"a": None}, "x\ny"],
    "nothing": [],
    "numbers": [1.5, True],
}
WRITTEN = """\
---
{
  cuddled: [{
    a: 1,
  }, {
    b: [[]],
  }, {}],
  mixed: [
    1,
    {
      a: null,
    },
    "\\
       x\\n\\
       y\\
      ",
  ],
  nothing: [],
  numbers: [
    1.5,
    true,
  ],
}"""
PLAIN_KEYS = ["a", "a.b/c-d_e", "1st", "1.2.3", "9a", "_u", "é"]
QUOTED_KEYS = ["", "1", "1_000", "0x1", "1e3", "2020-01-01", "12:30", "y", "N", "Off", "null", "~"]
QUOTED_KEYS += [".5", ".inf", "NaN", "-", "-x", "/a", "a b", "a:b", "a,b", "a=b", "+1", "$ref"]


def test_an_object_is_printed_with_braces_and_quotes(fairlead: Commands, tmp_path: Path) -> None:
    data = {"lines": "first\n  second\n\nlast", "no": "yes", "empty": ""}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    file = tmp_path / "a.json"
    file.write_text(json.dumps(manifest))
    printed = fairlead("create", "-f", str(file), "--dry-run=client", "-o", "kyaml")
    assert printed == CONFIG_MAP.replace("NAMESPACE", fairlead.space.name)


def test_several_objects_are_one_list(fairlead: Commands) -> None:
    fairlead.space.config_maps.create_all("a", "b")
    value = yaml.safe_load(fairlead("get", "cm", "a", "b", "-o", "kyaml"))
    assert (value["kind"], [item["metadata"]["name"] for item in value["items"]]) == (
        "List",
        ["a", "b"],
    )


def test_lists_of_objects_stand_in_the_line_of_their_bracket() -> None:
    assert kyaml.document(NESTED) == WRITTEN


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_keys_that_can_only_be_text_are_not_quoted(key: str) -> None:
    assert kyaml.document({key: 1}) == f"---\n{{\n  {key}: 1,\n}}"


@pytest.mark.parametrize("key", QUOTED_KEYS)
def test_other_keys_are_quoted(key: str) -> None:
    assert kyaml.document({key: 1}) == f'---\n{{\n  "{key}": 1,\n}}'


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(VALUES)
def test_what_is_written_reads_as_it_was_and_moves_no_cursor(value: object) -> None:
    text = kyaml.document(value)
    assert yaml.safe_load(text) == value
    assert all(letter.isprintable() or letter in "\n\t" for letter in text)
