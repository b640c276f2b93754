"""YAML in block style is read without libyaml, with the same result."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.codec.yaml_blocks import OtherYamlError, parse
from fairlead.codec.yaml_reader import load_any

_LONG = "words " * 30


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: text # comment\n# comment\n\nc:\n", {"a": 1, "b": "text", "c": None}),
        ("---\na: b\n", {"a": "b"}),
        ("a:\n- b\n- c: d\n  e: f\n-\n  g: h\n", {"a": ["b", {"c": "d", "e": "f"}, {"g": "h"}]}),
        ("- - a\n  - b\n- c", [["a", "b"], "c"]),
        ("a: \"x: 'y'\"\nb: 'it''s'\nc: \"\\ttab\"\n", {"a": "x: 'y'", "b": "it's", "c": "\ttab"}),
        ('"app/name": x\n\'yes\': no\n', {"app/name": "x", "yes": False}),
        ('command: ["sh", "-c"]\nargs: [a, b]\n', {"command": ["sh", "-c"], "args": ["a", "b"]}),
        ("a: []\nb: {}\n", {"a": [], "b": {}}),
        ("a: |\n  #!/bin/sh\n  \techo\n\n    more\n\nb: |-\n  end\n",
         {"a": "#!/bin/sh\n\techo\n\n  more\n", "b": "end"}),
        ("a: one\n  two\nb: 'three\n  four'\n", {"a": "one two", "b": "three four"}),
    ],
)  # fmt: skip
def test_what_needs_no_whole_parser(text: str, value: Any) -> None:
    assert parse(text.encode()) == value
    assert load_any(text.encode()) == (value, [])


@pytest.mark.parametrize(
    "text",
    ["a: &x b", "a: *x", "a: !!str 1", "a: >\n  b\n", "a: |+\n  b\n", "a: {b: c}", "a: 1\na: 2",
     "? a", "a: b: c", "a: .inf", "yes: 1", "1: a", "a: b\n c: d", "a:\n  - b\n c: d", "\ta: b",
     "a: 'b", "a: b\n---\nc: d", "a: |\n  b", "text", "", "%YAML 1.1\n---\na: b", "a: \"\\ud800\"",
     "a: [x, true]", f"a: {'b' * 300_000}"],
)  # fmt: skip
def test_what_is_left_to_the_whole_parser(text: str) -> None:
    with pytest.raises(OtherYamlError):
        parse(text.encode())


def test_depth_is_bounded() -> None:
    for text in ("- " * 50_000, "\n".join(" " * level + "a:" for level in range(600))):
        with pytest.raises(OtherYamlError):
            parse(text.encode())


texts = st.text("ab:- #'\"\\[]{}|>&*!%@,?.~\t\n\xe9\u2028\ufeff019eEx_", max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just(_LONG)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def _agree(raw: bytes) -> None:
    """The block parser leaves a document to libyaml, or reads the same."""
    try:
        value = parse(raw)
    except OtherYamlError:
        return
    whole, repeated = load_any(raw)
    assert (repr(whole), repeated) == (repr(value), [])


@given(st.dictionaries(texts, values, max_size=4), st.sampled_from([None, "'", '"', "|"]))
def test_what_libraries_write_is_read_alike(value: dict[str, Any], style: str | None) -> None:
    _agree(yaml.safe_dump(value, default_style=style, allow_unicode=True).encode())


_PARTS = ["a:", "b: c", "- ", "-", "  ", " ", "\n", "\n  ", "\n    ", "'", '"', "|", "|-", "#",
          " #", "x", "yes", "1", "[a, b]", '["a"]', "---", "...", ": ", "\t", "\\n", "{}", "<<: ",
          "&x ", "\xa0", "\r"]  # fmt: skip


@given(st.lists(st.sampled_from(_PARTS), max_size=20))
def test_texts_of_all_kinds_are_read_alike(parts: list[str]) -> None:
    _agree("".join(parts).encode())
