"""Parses YAML with libyaml, unless it is simple. A lazy module: few servers need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from yaml import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from fairlead.codec import yaml_blocks
from fairlead.codec.bodies import MAX_DEPTH
from fairlead.codec.yaml_scalars import (
    CORE_WORDS,
    WORDS,
    YamlError,
    as_json,
    as_key,
    plain,
    tagged,
)

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # a build of PyYAML without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

__all__ = ["CORE_WORDS", "YamlError", "load", "load_any"]

MAX_NODES = 400_000  # of a document with aliases expanded
MAX_ALIASED_BYTES = 4 * 1024 * 1024  # that aliases may add to a document
MAX_REPEATED = 100  # repeated keys that are reported

_NODE = 16  # bytes to account for the smallest value
_TEXT = "tag:yaml.org,2002:str"
_MERGE = "<<"
_LONGEST_KEY_SHOWN = 1024


class _Size:
    """The size of a value with its aliases expanded: values, bytes and levels."""

    __slots__ = ("bytes", "levels", "nodes")

    def __init__(self, nodes: int, size: int, levels: int) -> None:
        self.nodes = nodes
        self.bytes = size
        self.levels = levels

    def add(self, part: _Size) -> None:
        self.nodes += part.nodes
        self.bytes += part.bytes
        if part.levels >= self.levels:
            self.levels = part.levels + 1


class _Open:
    """A list or mapping that is being parsed."""

    __slots__ = ("anchor", "is_map", "key", "merges", "size", "value")

    def __init__(self, value: Any, anchor: str | None) -> None:
        self.value = value
        self.is_map = value.__class__ is dict
        self.anchor = anchor
        self.key: str | None = None
        self.merges = False
        self.size = _Size(1, _NODE, 1)


class _Builder:
    """Builds JSON values from parser events, without recursion and with limits on depth and
    aliases, so that hostile documents are harmless."""

    def __init__(self, loader: Any, words: Mapping[str, Any]) -> None:
        self._loader = loader
        self._words = words
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, _Size]] = {}
        self._nodes = 0
        self._aliased_bytes = 0
        self.result: Any = None
        self.repeated: list[str] = []

    def build(self) -> None:
        """Parse the first document."""
        next_event = self._loader.get_event
        while True:
            event = next_event()
            kind = event.__class__
            if kind is ScalarEvent:
                self._scalar(event)
            elif kind is SequenceStartEvent:
                self._push(_Open([], event.anchor))
            elif kind is MappingStartEvent:
                self._push(_Open({}, event.anchor))
            elif kind is SequenceEndEvent or kind is MappingEndEvent:
                done = self._open.pop()
                self._put(done.value, done.size, done.anchor, event)
            elif kind is AliasEvent:
                self._alias(event)
            elif kind is DocumentEndEvent or kind is StreamEndEvent:
                return

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise YamlError(f"yaml: document has more than {MAX_NODES} values")

    def _push(self, opened: _Open) -> None:
        self._count(1)
        if len(self._open) >= MAX_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        self._open.append(opened)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
        value, size = self._anchors[event.anchor]
        self._aliased_bytes += size.bytes
        self._nodes += size.nodes
        if self._aliased_bytes > MAX_ALIASED_BYTES or self._nodes > MAX_NODES:
            raise YamlError("yaml: document contains excessive aliasing")
        if len(self._open) + size.levels > MAX_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        self._put(_copied(value), size, None, event)

    def _scalar(self, event: Any) -> None:
        self._count(1)
        tag, text = event.tag, event.value
        if tag in (None, "!") and event.implicit[0]:
            if text == _MERGE and self._open and self._open[-1].is_map:
                top = self._open[-1]
                if top.key is None:
                    top.merges, top.key = True, ""
                    return
            value = as_json(plain(text, self._words))
        elif tag in (None, "!", _TEXT):
            value = text
        else:
            value = as_json(tagged(tag, text))
        self._put(value, _Size(1, _NODE + len(text), 0), event.anchor, event)

    def _put(self, value: Any, size: _Size, anchor: str | None, event: Any) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self.result = value
            return
        top = self._open[-1]
        top.size.add(size)
        if not top.is_map:
            top.value.append(value)
        elif top.key is None:
            top.key = self._key(top.value, value, event)
        elif top.merges:
            self._merge(top, value)
        else:
            top.value[top.key] = value
            top.key = None

    def _key(self, mapping: dict[str, Any], value: Any, event: Any) -> str:
        key = as_key(value)
        if key in mapping and len(self.repeated) < MAX_REPEATED:
            line = event.start_mark.line + 1
            shown = key[:_LONGEST_KEY_SHOWN]
            self.repeated.append(f'line {line}: key "{shown}" already set in map')
        return key

    @staticmethod
    def _merge(top: _Open, value: Any) -> None:
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            for key, item in source.items():
                top.value.setdefault(key, item)
        top.key, top.merges = None, False


def load(raw: bytes, words: dict[str, Any] = WORDS) -> tuple[Any, list[str]]:
    """The first document, as JSON values with string keys, and the keys it repeats. `words` are the
    unquoted words with a meaning; of CORE_WORDS, only `true` and `false` are booleans."""
    try:
        return yaml_blocks.parse(raw, words), []
    except yaml_blocks.OtherYamlError:
        return load_any(raw, words)


def load_any(raw: bytes, words: Mapping[str, Any] = WORDS) -> tuple[Any, list[str]]:
    """Like `load`, but also for YAML that `yaml_blocks` does not read."""
    loader: Any = None
    try:
        loader = _SafeLoader(raw)
        builder = _Builder(loader, words)
        builder.build()
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_place(error)}{error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise error if isinstance(error, YamlError) else YamlError(f"yaml: {error}") from None
    finally:
        if loader is not None:
            loader.dispose()
    return builder.result, builder.repeated


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _place(error: yaml.MarkedYAMLError) -> str:
    """The line number as clients know it: from 0, but from 1 for scanner errors."""
    for mark in (error.problem_mark, error.context_mark):
        if mark is not None and mark.line:
            is_scanner = mark is error.problem_mark and isinstance(error, yaml.scanner.ScannerError)
            return f"line {mark.line + is_scanner}: "
    return ""
