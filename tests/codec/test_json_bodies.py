"""JSON bodies: parsing, and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.codec.bodies import (
    BodyError,
    duplicate_fields,
    parse_json,
    parse_json_exactly,
    summary,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_is_json_is_read(value: Any) -> None:
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ('{"a": "b', "unexpected end of JSON input"),
        ("[1, 2", "unexpected end of JSON input"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ("{'a': 1}", r"invalid character '\'' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a": 1 "b": 2}', "invalid character '\"' after object key:value pair"),
        ('{"a": 1,}', "invalid character '}' looking for beginning of object key string"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a": [1 2]}', "invalid character '2' after array element"),
        ('[{"a": 1 2}]', "invalid character '2' after object key:value pair"),
        ("{ü", "invalid character 'Ã' looking for beginning of object key string"),
        ("\x85", r"invalid character 'Â' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ('{"a": tru}', "invalid character '}' in literal true (expecting 'e')"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ('{"a": yes}', "invalid character 'y' looking for beginning of value"),
        ('{"a": 01}', "invalid character '1' after object key:value pair"),
        ('{"a": -}', "invalid character '}' in numeric literal"),
        ('{"a": 1.}', "invalid character '}' after decimal point in numeric literal"),
        ('{"a": 1e}', "invalid character '}' in exponent of numeric literal"),
        ('{"a": "\\x"}', "invalid character 'x' in string escape code"),
        ('{"a": "\\u12G4"}', r"invalid character 'G' in \u hexadecimal character escape"),
        ('{"a": "\n"}', r"invalid character '\n' in string literal"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("{}{}", "invalid character '{' after top-level value"),
        ("apiVersion: v1", "invalid character 'a' looking for beginning of value"),
    ],
)
def test_what_is_wrong_is_said_in_the_references_words(text: str, message: str) -> None:
    with pytest.raises(BodyError) as caught:
        parse_json(text.encode())
    assert str(caught.value) == message


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_in_good_order(raw: bytes) -> None:
    try:
        parse_json(raw)
    except BodyError as error:
        text = str(error)
        assert text, raw


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'"x\xffy"', "x\ufffdy"),
        (rb'"x\ud800y"', "x\ufffdy"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (b'"\xef\xbf\xbd"', "\ufffd"),
    ],
)
def test_text_that_is_not_unicode_is_mended(raw: bytes, value: str) -> None:
    assert parse_json(raw) == value


def test_numbers_can_be_read_exactly() -> None:
    value = parse_json_exactly(b'{"a": 1.50, "b": 99999999999999999999, "c": 7}')
    assert (value["a"].text, value["b"].text, value["c"]) == ("1.50", "99999999999999999999", 7)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", "<empty>"),
        (b"{", "{"),
        (b"a: [\n", "613a205b0a"),
        (b'{"apiVersion": "v1", "kind": ["ConfigMap"]}', '{"apiVersion": "v1", "kind": [ ...'),
    ],
)
def test_the_beginning_of_a_body_is_shown(raw: bytes, expected: str) -> None:
    assert summary(raw) == expected


def repeated(text: str) -> list[str]:
    raw = text.encode()
    return duplicate_fields(raw, parse_json(raw))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", []),
        ('{"a": 1, "b": 2}', []),
        ('{"a": 1, "a": 2}', ["a"]),
        ('{"a": 1, "a": 2, "a": 3}', ["a", "a"]),
        ('{"a": {"b": 1, "b": 2}}', ["a.b"]),
        ('{"a": [{"b": 1}, {"b": 1, "b": 2}]}', ["a[1].b"]),
        ('{"a": [[{"b": 1, "b": 2}]]}', ["a[0][0].b"]),
        ('{"a": {"b": 1}, "a": {"b": 1}}', ["a"]),
        (r'{"a": 1, "\u0061": 2}', ["a"]),
        ('{"a": "{\\"b\\": 1, \\"b\\": 2}"}', []),
        ('{"a": "\\":\\":", "b": "x\\":"}', []),
        ('{"a" : 1, "a" : 2}', ["a"]),
        ('{"a\\"": 1, "b": 2}', []),
    ],
)
def test_repeated_keys_are_found(text: str, expected: list[str]) -> None:
    assert repeated(text) == expected


@given(values)
def test_a_document_without_repeated_keys_has_none(value: Any) -> None:
    for text in (
        json.dumps(value),
        json.dumps(value, indent=1),
        json.dumps(value, ensure_ascii=False),
    ):
        assert repeated(text) == []


@given(st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=4), st.data())
def test_a_key_that_is_repeated_is_always_found(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    text = json.dumps(value)
    twice = text[:-1] + f", {json.dumps(key)}: 1}}"
    assert key in repeated(twice)
