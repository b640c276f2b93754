"""Functions of templates that need nothing but their arguments: those of kwok and of the sprig
library, beside those of Go."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from json import loads
from typing import Any

from fairlead.base import meter, patterns
from fairlead.base.quotes import quote
from fairlead.codec import yaml_writer
from fairlead.codec.go_template.functions import GO_FUNCTIONS, equal
from fairlead.codec.go_template.values import (
    MAX_SIZE,
    TemplateError,
    as_json,
    check_size,
    is_true,
    joined,
    shown,
)

_MAX_ITEMS = 10_000
_WORD = 2**64
_HALF = 2**63


# kwok.


def _quoted(value: Any) -> str:
    return as_json(value if isinstance(value, str) else as_json(value))


def _yaml(value: Any, indent: int = 0) -> str:
    check_size(value)
    text = yaml_writer.dump(value).decode()
    if indent <= 0:
        return text
    return _indented(f"\n{text}", indent * 2, is_first=False)


def _indented(text: str, width: int, *, is_first: bool = True) -> str:
    if not 0 <= width <= 100:
        raise TemplateError("an indentation is 0 to 100")
    lines = text.split("\n")
    return joined(
        (f"{' ' * width if n or is_first else ''}{line}" for n, line in enumerate(lines)), "\n"
    )


_NODE_CONDITIONS = [
    {"type": kind, "status": status, "reason": reason, "message": message}
    for kind, status, reason, message in (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
]

_OF_KWOK: dict[str, Callable[..., Any]] = {
    "NodeConditions": lambda: _NODE_CONDITIONS,
    "Quote": _quoted,
    "YAML": _yaml,
}


# sprig.


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _repeated(count: int, text: str) -> str:
    if count > 0 and count * len(text) > MAX_SIZE:
        raise TemplateError(f"the result is larger than {MAX_SIZE} characters")
    return text * count


def _replaced(old: str, new: str, text: str) -> str:
    if (text.count(old) if old else len(text) + 1) * len(new) + len(text) > MAX_SIZE:
        raise TemplateError(f"the result is larger than {MAX_SIZE} characters")
    return text.replace(old, new)


def _dictionary(*parts: Any) -> dict[str, Any]:
    return {shown(key): value for key, value in zip(parts[::2], [*parts[1::2], ""], strict=False)}


def _until(stop: int, start: int = 0, step: int = 1) -> list[int]:
    numbers = range(start, stop, step)
    if len(numbers) > _MAX_ITEMS:
        raise TemplateError(f"a list has at most {_MAX_ITEMS} numbers")
    meter.spend(len(numbers) // 10)
    return list(numbers)


def _items(*lists: Any) -> list[Any]:
    items = [item for part in lists for item in (part or ())]
    if len(items) > MAX_SIZE:
        raise TemplateError(f"the list is longer than {MAX_SIZE}")
    return items


def _unique(items: list[Any]) -> list[Any]:
    check_size(items)
    return list({as_json(item): item for item in items}.values())


def _merged(first: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    result = dict(first)
    for other in others:
        result = {**other, **result}
    return result


def _integer(value: Any) -> int:
    if isinstance(value, str):
        try:
            number = int(float(value)) if re.fullmatch(r"[+-]?\d{1,19}(\.\d{0,9})?", value) else 0
        except (ValueError, OverflowError):
            return 0
    else:
        number = int(value or 0)
    return (number + _HALF) % _WORD - _HALF


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except ValueError:
        return 0.0


def _sum(*values: Any) -> int:
    return _integer(sum(map(_integer, values)))


def _product(first: Any, *values: Any) -> int:
    result = _integer(first)
    for value in values:
        result = _integer(result * _integer(value))
    return result


def _quotient(left: Any, right: Any) -> int:
    return int(_integer(left) / _integer(right))


def _matches(pattern: str, text: str) -> bool:
    return patterns.compiled(_text(pattern)).search(_text(text)) is not None


def _decoded(text: str) -> str:
    return b64decode(text).decode("utf-8", "replace")


def _failed(text: str) -> None:
    raise TemplateError(text)


_OF_SPRIG: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "add1": lambda value: _sum(value, 1),
    "append": lambda items, item: _items(items, [item]),
    "atoi": _integer,
    "b64dec": _decoded,
    "b64enc": lambda text: b64encode(_text(text).encode()).decode(),
    "cat": lambda *values: joined(map(shown, values), " "),
    "coalesce": lambda *values: next(filter(is_true, values), None),
    "compact": lambda items: list(filter(is_true, items)),
    "concat": _items,
    "contains": lambda part, text: part in _text(text),
    "default": lambda default, value=None: value if is_true(value) else default,
    "dict": _dictionary,
    "div": _quotient,
    "empty": lambda value: not is_true(value),
    "fail": _failed,
    "first": lambda items: items[0] if items else None,
    "float64": _number,
    "fromJson": lambda text: loads(text),
    "get": lambda values, key: values.get(key, ""),
    "has": lambda item, items: any(equal(item, other) for other in items or ()),
    "hasKey": lambda values, key: key in values,
    "hasPrefix": lambda start, text: _text(text).startswith(start),
    "hasSuffix": lambda end, text: _text(text).endswith(end),
    "indent": lambda width, text: _indented(_text(text), width),
    "initial": lambda items: items[:-1],
    "int": _integer,
    "int64": _integer,
    "join": lambda separator, items: joined(map(shown, items), separator),
    "keys": lambda *values: [key for part in values for key in part],
    "last": lambda items: items[-1] if items else None,
    "list": lambda *values: list(values),
    "lower": lambda text: _text(text).lower(),
    "max": lambda *values: max(map(_integer, values)),
    "merge": _merged,
    "min": lambda *values: min(map(_integer, values)),
    "mod": lambda left, right: _integer(left) - _quotient(left, right) * _integer(right),
    "mul": _product,
    "nindent": lambda width, text: "\n" + _indented(_text(text), width),
    "nospace": lambda text: joined(_text(text).split()),
    "omit": lambda values, *names: {key: values[key] for key in values if key not in names},
    "pick": lambda values, *names: {key: values[key] for key in values if key in names},
    "prepend": lambda items, item: _items([item], items),
    "quote": lambda *values: joined((quote(shown(value)) for value in values), " "),
    "regexMatch": _matches,
    "repeat": _repeated,
    "replace": _replaced,
    "rest": lambda items: items[1:],
    "reverse": lambda items: items[::-1],
    "sha256sum": lambda text: sha256(_text(text).encode()).hexdigest(),
    "splitList": lambda separator, text: _text(text).split(separator),
    "squote": lambda *values: joined((f"'{shown(value)}'" for value in values), " "),
    "sub": lambda left, right: _integer(_integer(left) - _integer(right)),
    "substr": lambda start, end, text: _text(text)[max(start, 0) : end if end >= 0 else None],
    "ternary": lambda positive, negative, condition: positive if condition else negative,
    "title": lambda text: _text(text).title(),
    "toJson": as_json,
    "toString": shown,
    "trim": lambda text: _text(text).strip(),
    "trimAll": lambda letters, text: _text(text).strip(letters),
    "trimPrefix": lambda start, text: _text(text).removeprefix(start),
    "trimSuffix": lambda end, text: _text(text).removesuffix(end),
    "trunc": lambda size, text: _text(text)[:size] if size >= 0 else _text(text)[size:],
    "uniq": _unique,
    "until": _until,
    "untilStep": lambda start, stop, step: _until(stop, start, step),
    "upper": lambda text: _text(text).upper(),
    "values": lambda *values: [item for part in values for item in part.values()],
}

FUNCTIONS = {**_OF_SPRIG, **_OF_KWOK, **GO_FUNCTIONS}
