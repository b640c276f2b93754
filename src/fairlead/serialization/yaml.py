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


class YamlError(ValueError):
    """Text that is not YAML, or holds what JSON cannot."""


class _Loader(_SafeLoader):
    """Timestamps stay text: JSON has no other way to write them. Repeated keys are noted."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(raw)
        self.repeated: list[str] = []

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            if key.value in seen and isinstance(key.value, str):
                line = key.start_mark.line + 1
                self.repeated.append(f'line {line}: key "{key.value}" already set in map')
            elif isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    letter: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for letter, rules in _SafeLoader.yaml_implicit_resolvers.items()
}
# YAML 1.1 has one-letter booleans, which PyYAML leaves out.
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))
_Loader.bool_values = {**_SafeLoader.bool_values, "y": True, "n": False}


def load(raw: bytes) -> tuple[Any, list[str]]:
    """The first document, as JSON values with string keys, and the keys it repeats."""
    loader: Any = _Loader(raw)
    try:
        value = _as_json(loader.get_data()) if loader.check_data() else None
        return value, sorted(loader.repeated, key=_line)
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_place(error)}{error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"yaml: {error}") from None
    finally:
        loader.dispose()


def _line(text: str) -> int:
    return int(text.split(" ", 2)[1].rstrip(":"))


def _place(error: yaml.MarkedYAMLError) -> str:
    """The line, counted as clients are used to: from 0, but from 1 while scanning."""
    for mark in (error.problem_mark, error.context_mark):
        if mark is not None and mark.line:
            is_scanner = mark is error.problem_mark and isinstance(error, yaml.scanner.ScannerError)
            return f"line {mark.line + is_scanner}: "
    return ""


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
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
    raise YamlError(f"unsupported map key: {key!r}")


class _Dumper(_SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(value: Any) -> bytes:
    text = yaml.dump(
        value, Dumper=_Dumper, sort_keys=True, default_flow_style=False, allow_unicode=True
    )
    return str(text).encode()
