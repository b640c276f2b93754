"""Selectors parse to requirements on facts; errors name the reason."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.storage.selection import (
    MAX_KEYS,
    MAX_TERMS,
    SelectorError,
    folded,
    parse_fields,
    parse_labels,
)

FACTS = {"a": "1", "b": "", "c.d/e": "x"}


def matches(text: str, facts: dict[str, str]) -> bool:
    return all(rule.matches(facts) for rule in parse_labels(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("a", True),
        ("!a", False),
        ("b", True),
        ("!z", True),
        ("a=1", True),
        ("a==1", True),
        ("a!=1", False),
        ("z!=1", True),
        ("b=", True),
        ("z=", False),
        ("a in (1,2)", True),
        ("a notin (1,2)", False),
        ("z notin (1,2)", True),
        ("c.d/e in (x)", True),
        ("a>0", True),
        ("a<1", False),
        ("z>0", False),
        ("b<5", False),
        ("a,b,c.d/e=x,!z", True),
    ],
)
def test_a_label_selector_matches(text: str, expected: bool) -> None:
    assert matches(text, FACTS) is expected


def test_label_selector_may_have_white_space() -> None:
    assert parse_labels(" a = 1 , b in ( x , y ) ,! c ") == parse_labels("a=1,b in (x,y),!c")


def test_label_selector_keys_and_values_may_be_words_of_operators() -> None:
    assert matches("in in (notin)", {"in": "notin"})
    assert matches("notin=in", {"notin": "in"})
    assert matches("!in", {"x": "y"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (x,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
    ],
)
def test_a_label_selector_of_wrong_grammar_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_labels(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a>b", "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an"),
        ("a>9223372036854775808", "the value must be an integer"),
        ("a=-", 'unable to parse requirement: values[0][a]: Invalid value: "-": '),
        ("a in (-,b,_)", 'unable to parse requirement: [values[0][a]: Invalid value: "-": '),
        ("-a=1", 'unable to parse requirement: <nil>: Invalid value: "-a": '),
    ],
)
def test_a_label_selector_that_cannot_be_read_says_why(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_labels(text)
    assert message in str(caught.value)


words = st.from_regex(r"[a-z]([-a-z0-9_.]{0,6}[a-z0-9])?", fullmatch=True)
values = st.one_of(st.just(""), words)


@given(st.dictionaries(words, values, max_size=5))
def test_label_selector_of_all_labels_of_a_set_selects_it(labels: dict[str, str]) -> None:
    text = ",".join(f"{key}={value}" for key, value in labels.items())
    assert matches(text, labels)
    assert matches(",".join(labels), labels)


@given(st.dictionaries(words, words, max_size=5), words, st.lists(words, min_size=1, max_size=4))
def test_label_selector_in_and_notin_are_opposites(
    labels: dict[str, str], key: str, found: list[str]
) -> None:
    listed = ",".join(found)
    inside = matches(f"{key} in ({listed})", labels)
    assert inside == (labels.get(key) in found)
    assert matches(f"{key} notin ({listed})", labels) is not inside


@given(st.text(max_size=30))
def test_selector_of_any_text_is_read_or_refused_with_an_error(text: str) -> None:
    for parse in (parse_labels, parse_fields):
        with suppress(SelectorError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "key", "operator", "value"),
    [
        ("a=b", "a", "in", "b"),
        ("a==b", "a", "in", "b"),
        ("a!=b", "a", "notin", "b"),
        ("a=", "a", "in", ""),
        ("metadata.name=x.y-z", "metadata.name", "in", "x.y-z"),
        (r"a=b\,c", "a", "in", "b,c"),
        (r"a=b\=c", "a", "in", "b=c"),
        (r"a=b\\", "a", "in", "b\\"),
    ],
)
def test_a_field_selector_is_read(text: str, key: str, operator: str, value: str) -> None:
    [rule] = parse_fields(text)
    assert (rule.key, rule.operator, rule.values) == (key, operator, frozenset([value]))


def test_field_selectors_are_joined_by_commas() -> None:
    assert [rule.key for rule in parse_fields("a=1,b!=2,c==3")] == ["a", "b", "c"]


@pytest.mark.parametrize("text", ["a", "a=1,b", "a in (b)"])
def test_a_field_selector_without_equality_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="invalid selector: "):
        parse_fields(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b=c", "unescaped character in value: 61"),
        ("a===b", "unescaped character in value: 61"),
        (r"a=\x", r"invalid escape sequence: \x"),
    ],
)
def test_values_of_field_selectors_escape_what_would_end_them(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_fields(text)
    assert str(caught.value) == f"invalid field selector: {message}"


@pytest.mark.parametrize(
    ("text", "folds_to"),
    [
        ("a!=1,a!=2,a notin (3,4)", "a notin (1,2,3,4)"),
        ("a in (1,2),a in (2,3)", "a=2"),
        ("a,a,b,!c,!c", "a,b,!c"),
        ("a>3,a>20,a<9,a<80", "a>20,a<9"),
    ],
)
def test_selector_conditions_on_one_key_become_one(text: str, folds_to: str) -> None:
    assert folded(parse_labels(text)) == parse_labels(folds_to)


@given(
    terms=st.lists(
        st.sampled_from(
            ["a", "!a", "a=1", "a=2", "a!=1", "a!=2", "a in (1,2)", "a notin (2,3)", "a>1", "a<2"]
        ),
        max_size=6,
    ),
    facts=st.dictionaries(st.just("a"), st.sampled_from(["", "0", "1", "2", "3", "x"])),
)
def test_selector_folding_changes_nothing_of_what_matches(
    terms: list[str], facts: dict[str, str]
) -> None:
    rules = parse_labels(",".join(terms))
    assert all(rule.matches(facts) for rule in folded(rules)) == all(
        rule.matches(facts) for rule in rules
    )


def test_a_selector_has_so_many_conditions_and_values_at_most() -> None:
    values = ",".join(map(str, range(MAX_TERMS // 2)))
    assert parse_labels(",".join(f"a!={n}" for n in range(MAX_TERMS)))
    assert parse_fields(",".join(f"a!={n}" for n in range(MAX_TERMS)))
    refused = f"a selector may have {MAX_TERMS} conditions and values at most"
    with pytest.raises(SelectorError, match=refused):
        parse_labels(",".join(f"a!={n}" for n in range(MAX_TERMS + 1)))
    with pytest.raises(SelectorError, match=refused):
        parse_fields(",".join(f"a!={n}" for n in range(MAX_TERMS + 1)))
    with pytest.raises(SelectorError, match=refused):
        parse_labels(f"a in ({values}),a in ({values})")


def test_a_selector_has_conditions_on_so_many_keys_at_most() -> None:
    assert parse_labels(",".join(f"!k{n}" for n in range(MAX_KEYS)))
    with pytest.raises(SelectorError, match=f"conditions on {MAX_KEYS} keys at most"):
        parse_labels(",".join(f"!k{n}" for n in range(MAX_KEYS + 1)))
