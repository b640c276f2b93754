"""YAML in and out: the rules of YAML 1.1, as JSON values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.codec.yaml_reader import YamlError, load
from fairlead.codec.yaml_writer import dump, natural_order


def value_of(text: str) -> Any:
    return load(text.encode())[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: 1.5", {"a": 1.5}),
        ("a: text", {"a": "text"}),
        ('a: "1"', {"a": "1"}),
        ("a: '1'", {"a": "1"}),
        ("a: yes", {"a": True}),
        ("a: off", {"a": False}),
        ("a: y", {"a": True}),
        ("a: N", {"a": False}),
        ("a: true", {"a": True}),
        ("a: null", {"a": None}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 0x1F", {"a": 31}),
        ("a: 0o17", {"a": 15}),
        ("a: 0b11", {"a": 3}),
        ("a: +1", {"a": 1}),
        ("a: 010", {"a": 8}),
        ("a: 1_000", {"a": 1000}),
        ("a: 1e3", {"a": 1000}),
        ("a: 1.5e3", {"a": 1500}),
        ("a: 15E-1", {"a": 1.5}),
        ("a: .5", {"a": 0.5}),
        ("a: 1.", {"a": 1}),
        ("a: 12:30:45", {"a": "12:30:45"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: 1:30.5", {"a": "1:30.5"}),
        ("a: =", {"a": "="}),
        ("a: 1.2.3", {"a": "1.2.3"}),
        ("a: 10.0.0.1", {"a": "10.0.0.1"}),
        ("a: 0x", {"a": "0x"}),
        ("a: 08", {"a": 8}),
        ("y: 1", {"true": 1}),
        ("a: 2001-01-01", {"a": "2001-01-01"}),
        ("a: 2001-01-01T00:00:00Z", {"a": "2001-01-01T00:00:00Z"}),
        ("1: a", {"1": "a"}),
        ("true: a", {"true": "a"}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: >\n  two\n  lines\n", {"a": "two lines\n"}),
        ("a: [1, 2]\nb: {c: d}", {"a": [1, 2], "b": {"c": "d"}}),
        ("x: &x {a: 1}\nz: *x", {"x": {"a": 1}, "z": {"a": 1}}),
        ("x: &x {a: 1}\nz:\n  <<: *x\n  b: 2", {"x": {"a": 1}, "z": {"a": 1, "b": 2}}),
        ("# only a comment\n", None),
        ("", None),
        ("--- \na: 1\n--- \na: 2\n", {"a": 1}),
        ("a: 1\n...\n", {"a": 1}),
        ('{"a": [true, null]}', {"a": [True, None]}),
    ],
)
def test_what_is_read(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    "text",
    ["a: [", "a: b: c", "a: {", "\tx: 1", "a: *nothing", "a: 'x", "? [a]\n: b",
     "a: !!python/object:os.system x"],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        value_of(text)
    assert str(caught.value)


@pytest.mark.parametrize("text", ["a: .nan", "a: .inf", "a: -.inf"])
def test_numbers_that_json_does_not_know_are_refused(text: str) -> None:
    with pytest.raises(YamlError, match="unsupported value"):
        value_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\n", []),
        ("a: 1\na: 2\n", ['line 2: key "a" already set in map']),
        ("m:\n  k: v\n  l: w\n  k: x\n", ['line 4: key "k" already set in map']),
        ("a: {k: 1, k: 2}\nb: {k: 1, k: 2}\n",
         ['line 1: key "k" already set in map', 'line 2: key "k" already set in map']),
    ],
)  # fmt: skip
def test_repeated_keys_are_named_by_their_lines(text: str, expected: list[str]) -> None:
    assert load(text.encode())[1] == expected


def test_the_last_of_repeated_keys_counts() -> None:
    assert value_of("a: 1\na: 2\n") == {"a": 2}


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(YamlError):
        value_of("\n".join(lines))


def test_a_few_aliases_are_welcome() -> None:
    text = "base: &base {a: 1}\nlist: [*base, *base, *base]\n"
    value = value_of(text)
    assert value["list"] == [{"a": 1}] * 3
    value["list"][0]["a"] = 2
    assert value["list"][1] == {"a": 1}, "what an alias stands for must not be shared"


@pytest.mark.parametrize("text", ["[" * 50_000, "{a: " * 50_000, "- " * 50_000])
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(YamlError):
        value_of(text)


texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, json_values, max_size=4))
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    again, repeated = load(dump(value))
    assert again == value
    assert repeated == []


@pytest.mark.parametrize(
    "text",
    ["y", "Y", "n", "N", "yes", "no", "on", "Off", "true", "null", "~", "1", "1.5", "1e3", "0x1F",
     "0o17", "0b1", "1:30", "12:30:45", "=", "<<", "2001-01-01", "", " ", "-", "#x", "a: b", "@x",
     "*x", "&x", "!x", "%x", "010", "1_000", ".5", "1.", "+1", ".inf", ".nan", "x\n", "\tx"],
)  # fmt: skip
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    for value in ({"k": text}, {text: "v"}, {"k": [text]}):
        assert load(dump(value))[0] == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "word " * 20 + "end"}, "a: " + "word " * 15 + "word\n  word word word word end\n"),
        (
            {"a": ["b: " + "word " * 20]},
            "a:\n- 'b: " + "word " * 15 + "word\n  word word word word '\n",
        ),
        ({"a": "x" * 100}, "a: " + "x" * 100 + "\n"),
        ({"a": "b:  " + "x" * 80 + "  c"}, "a: 'b:  " + "x" * 80 + "  c'\n"),
        ({"a": "\t" + "x" * 80 + "  c"}, 'a: "\\t' + "x" * 80 + '\n  \\ c"\n'),
    ],
)
def test_long_text_is_folded_at_spaces(value: dict[str, Any], text: str) -> None:
    assert dump(value).decode() == text
    assert load(text.encode())[0] == value


def test_keys_are_sorted_and_nothing_is_folded_into_aliases() -> None:
    shared = {"k": "v"}
    text = dump({"b": shared, "a": shared}).decode()
    assert text == "a:\n  k: v\nb:\n  k: v\n"


@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused_in_good_order(raw: bytes) -> None:
    try:
        load(raw)
    except YamlError as error:
        text = str(error)
        assert text, raw


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (3.0, "3"),
        (123456.75, "123456.75"),
        (1234567.5, "1.2345675e+06"),
        (-12345678901234.5, "-1.23456789012345e+13"),
        (2000000.0, "2e+06"),
        (1e20, "1e+20"),
        (0.00001, "1e-05"),
        (2.5e-7, "2.5e-07"),
        (0.0, "0"),
    ],
)
def test_a_fraction_is_written_as_the_reference_does(value: float, text: str) -> None:
    assert dump(value).decode() == f"{text}\n"


def test_natural_order_compares_the_numbers_in_keys() -> None:
    keys = ["z10", "z2", "Z", "k.1", "k-1", "k_1", "a", "1", "02", "10"]
    text = dump(dict.fromkeys(keys, 0), natural_order).decode()
    assert list(load(text.encode())[0]) == (
        ["1", "02", "10", "Z", "a", "k-1", "k.1", "k_1", "z2", "z10"]
    )
