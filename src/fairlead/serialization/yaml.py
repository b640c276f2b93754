"""YAML in and out, over libyaml; imported only when a request asks for it."""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

try:
    from yaml import CSafeDumper as _SafeDumper
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # a build of PyYAML without libyaml
    from yaml import SafeDumper as _SafeDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

MOST_DEPTH = 240  # what the JSON encoder bears, with room for what is put around an object
MOST_NODES = 200_000

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "<<"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)


class YamlError(ValueError):
    """Text that is not YAML, or holds what JSON cannot."""


def _plain(text: str) -> Any:
    """What an unquoted scalar means, by the rules of YAML 1.1 as clients of this API know them: no
    timestamps and no numbers of base 60."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-")
    if body[:1] == "0" and body[1:2].isdigit():
        return sign * int(body, 8)
    return sign * int(body, 0)


class _Open:
    """A list or mapping that is being read, and the size it would have with its aliases copied."""

    __slots__ = ("anchor", "key", "merges", "size", "value")

    def __init__(self, value: Any, anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.key: str | None = None
        self.merges = False
        self.size = 1


class _Builder:
    """Makes JSON values of events, without recursion: neither depth nor aliases of a hostile
    document can hurt."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0  # values that aliases made
        self.result: Any = None
        self.repeated: list[str] = []

    def build(self) -> None:
        """Read the first document."""
        loader = self._loader
        while True:
            event = loader.get_event()
            if isinstance(event, (yaml.DocumentEndEvent, yaml.StreamEndEvent)):
                return
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.SequenceStartEvent):
                self._push(_Open([], event.anchor))
            elif isinstance(event, yaml.MappingStartEvent):
                self._push(_Open({}, event.anchor))
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                done = self._open.pop()
                self._put(done.value, done.size, done.anchor, event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)

    def _push(self, opened: _Open) -> None:
        if len(self._open) >= MOST_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MOST_DEPTH}")
        self._open.append(opened)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
        value, size = self._anchors[event.anchor]
        self._nodes += size
        if self._nodes > MOST_NODES:
            raise YamlError("yaml: document contains excessive aliasing")
        self._put(_copied(value), size, None, event)

    def _scalar(self, event: Any) -> None:
        top = self._open[-1] if self._open else None
        is_key = top is not None and isinstance(top.value, dict) and top.key is None
        if event.tag in (None, "!") and event.implicit[0]:
            if is_key and event.value == _MERGE:
                assert top is not None
                top.merges, top.key = True, ""
                return
            value = _plain(event.value)
        elif event.tag in (None, "!", _TEXT):
            value = event.value
        else:
            node = yaml.ScalarNode(event.tag, event.value, event.start_mark, event.end_mark)
            value = self._loader.construct_object(node)
        self._put(_as_json(value), 1, event.anchor, event)

    def _put(self, value: Any, size: int, anchor: str | None, event: Any) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self.result = value
            return
        top = self._open[-1]
        top.size += size
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            top.key = self._key(top.value, value, event)
        elif top.merges:
            self._merge(top, value)
        else:
            top.value[top.key] = value
            top.key = None

    def _key(self, mapping: dict[str, Any], value: Any, event: Any) -> str:
        key = _key(value)
        if key in mapping:
            line = event.start_mark.line + 1
            self.repeated.append(f'line {line}: key "{key}" already set in map')
        return key

    @staticmethod
    def _merge(top: _Open, value: Any) -> None:
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            for key, item in source.items():
                top.value.setdefault(key, item)
        top.key, top.merges = None, False


def load(raw: bytes) -> tuple[Any, list[str]]:
    """The first document, as JSON values with string keys, and the keys it repeats."""
    loader: Any = _SafeLoader(raw)
    builder = _Builder(loader)
    try:
        builder.build()
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_place(error)}{error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise error if isinstance(error, YamlError) else YamlError(f"yaml: {error}") from None
    finally:
        loader.dispose()
    return builder.result, builder.repeated


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _place(error: yaml.MarkedYAMLError) -> str:
    """The line, counted as clients are used to: from 0, but from 1 while scanning."""
    for mark in (error.problem_mark, error.context_mark):
        if mark is not None and mark.line:
            is_scanner = mark is error.problem_mark and isinstance(error, yaml.scanner.ScannerError)
            return f"line {mark.line + is_scanner}: "
    return ""


def _as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlError(f"json: unsupported value: {value}")
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise YamlError(f"json: unsupported type: {type(value).__name__}")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    if isinstance(key, (int, float)):
        return str(key)
    raise YamlError(f"yaml: invalid map key: {key!r}")


class _Dumper(_SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    """Quote what would be read as something else than text."""
    style = None if _plain(text) is text else "'"
    return dumper.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(value: Any) -> bytes:
    text = yaml.dump(
        value, Dumper=_Dumper, sort_keys=True, default_flow_style=False, allow_unicode=True
    )
    return str(text).encode()
