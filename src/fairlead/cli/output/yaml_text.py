"""Writes YAML in the layout usual for this API: quotes only if needed, block style for multi-line
text, keys in natural order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any

import yaml

from fairlead.cli.output.values import plain

_TEXT = "tag:yaml.org,2002:str"
_MAP = "tag:yaml.org,2002:map"
_TAGS = {
    yaml.ScalarNode: _TEXT,
    yaml.MappingNode: _MAP,
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
}
# Texts that need quotes, because YAML readers parse them as another type.
_AMBIGUOUS = re.compile(
    r"""(?: | ~ | null | Null | NULL
      | y | Y | yes | Yes | YES | n | N | no | No | NO | on | On | ON | off | Off | OFF
      | true | True | TRUE | false | False | FALSE
      | \.nan | \.NaN | \.NAN | [-+]?\.(?:inf | Inf | INF)
      | [-+]?(?: 0[xX][0-9a-fA-F_]+ | 0[oO]?[0-7_]+ | 0[bB][01_]+ | [0-9][0-9_]*)
      | [-+]?(?: \.[0-9_]+ | [0-9][0-9_]*(?: \.[0-9_]*)?)(?: [eE][-+]?[0-9]+)?
      | [-+]?[0-9][0-9_]*(?: :[0-5]?[0-9])+(?: \.[0-9_]*)?
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
        (?: (?: [Tt]|[ ])[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?: \.[0-9]+)?(?: Z|[-+][0-9:]+)?)?
    )""",
    re.VERBOSE,
)
_SIMPLE = re.compile(r"[A-Za-z]*")
_DIGITS = re.compile(r"[0-9]*")
_MAX_DIGITS = 300  # digits of a number in a key that are compared


class _Dumper(yaml.CSafeDumper):
    """Dumps every scalar as text whose style is already chosen, so that no tags are written."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return _TAGS[kind]

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else '"' if _AMBIGUOUS.fullmatch(value) else None
    return dumper.represent_scalar(_TEXT, value, style=style)


def _scalar(dumper: _Dumper, value: Any) -> yaml.Node:
    return dumper.represent_scalar(_TEXT, "null" if value is None else plain(value))


def _mapping(dumper: _Dumper, value: Mapping[str, Any]) -> yaml.Node:
    pairs = [(key, value[key]) for key in _ordered(value)]
    return dumper.represent_mapping(_MAP, pairs)


_REPRESENTED: dict[type, Callable[[_Dumper, Any], yaml.Node]] = {
    str: _text,
    dict: _mapping,
    **dict.fromkeys((int, float, bool, type(None)), _scalar),
}
for _type, _represent in _REPRESENTED.items():
    _Dumper.add_representer(_type, _represent)


def dump(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, allow_unicode=True, default_flow_style=False, width=80
    )
    return text


def _ordered(keys: Mapping[str, Any]) -> list[str]:
    if all(_SIMPLE.fullmatch(key) for key in keys):
        return sorted(keys)
    return sorted(keys, key=cmp_to_key(_compare))


def _compare(left: str, right: str) -> int:
    """Compare keys: other characters before letters, numbers by value."""
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one == other:
            continue
        if one.isalpha() or other.isalpha():
            if one.isalpha() and other.isalpha():
                return -1 if one < other else 1
            return -1 if other.isalpha() else 1
        return _compare_numbers(left, right, at)
    return len(left) - len(right)


def _compare_numbers(left: str, right: str, at: int) -> int:
    """Compare two keys that first differ at `at`, where neither has a letter."""
    before = left[:at]
    begun = before[len(before.rstrip("0123456789")) :].strip("0")
    first, second = (_DIGITS.findall(text[at:])[0] for text in (left, right))
    lead = "1" if begun and "0" in (left[at], right[at]) else "0"
    one, other = (int(f"{lead}{digits[:_MAX_DIGITS]}") for digits in (first, second))
    if one != other:
        return -1 if one < other else 1
    if len(first) != len(second):
        return len(first) - len(second)
    return -1 if left[at] < right[at] else 1
