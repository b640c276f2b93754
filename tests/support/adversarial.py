"""Adversarial bodies of the maximum size: deep, wide, repetitive, truncated, and with every list of
the type model filled up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Set
from typing import Any

from fairlead.codec.protobuf import MAGIC
from fairlead.codec.protobuf_wire import BYTES, VARINT, delimited, key, varint
from fairlead.codec.types.model import Field, ListOf, MapOf, Scalar, Struct, Type

Object = dict[str, Any]
Bodies = dict[str, Callable[[], bytes]]

MAX_BYTES = 3 * 1024 * 1024


def repeated(
    unit: bytes, size: int = MAX_BYTES, opening: bytes = b"", closing: bytes = b""
) -> bytes:
    room = size - len(opening) - len(closing)
    return opening + unit * (room // len(unit)) + closing


def json_bodies(size: int = MAX_BYTES) -> Bodies:
    """Documents of every bad shape; some are valid JSON, some only begin like it. Only the
    document that a test asks for is built."""
    deep = b'{"a":' * 200 + b'1,"a":2' + b"}" * 200
    return {
        "lists": lambda: repeated(b"[],", size, b'{"a":[', b"[]]}"),
        "objects": lambda: repeated(b"{},", size, b'{"a":[', b"{}]}"),
        "numbers": lambda: repeated(b"1,", size, b'{"a":[', b"1]}"),
        "one key again and again": lambda: repeated(b'"a":1,', size, b"{", b'"a":1}'),
        "spaced keys": lambda: repeated(b'"a" :1,', size, b"{", b'"a" :1}'),
        "many keys": lambda: b"{%s}" % b",".join(b'"k%d":1' % n for n in range(size // 12)),
        "repeated keys far down": lambda: repeated(b'"k":' + deep + b",", size, b"{", b'"k":1}'),
        "escaped colons": lambda: repeated(b'"\\u003a":{},', size, b"{", b'"b":1}'),
        "too deep": lambda: repeated(b"[", size),
        "as deep as can be": lambda: b'{"a":' * 249 + b"1" + b"}" * 249,
        "unfinished list": lambda: repeated(b"1,", size, b"["),
        "unfinished lists": lambda: repeated(b"[],", size, b"["),
        "unfinished objects": lambda: repeated(b'{"a":1},', size, b"["),
        "unfinished text": lambda: repeated(b"a", size, b'{"a":"'),
        "unfinished escapes": lambda: repeated(b"\\n", size, b'{"a":"'),
        "wrong at the end": lambda: repeated(b"[],", size, b'{"a":[', b'[]],"b":1 x}'),
        "text": lambda: repeated(b"a", size, b'{"a":"', b'"}'),
        "no text": lambda: repeated(b"\xff", size, b'{"a":"', b'"}'),
        "surrogates": lambda: repeated(b"\\ud800", size, b'{"a":"', b'"}'),
        "digits": lambda: repeated(b"9", size, b'{"a":', b"}"),
        "fraction": lambda: repeated(b"9", size, b'{"a":0.', b"}"),
        "exponent": lambda: b'{"a":1e999999999}',
        "digits with an error": lambda: repeated(b"9", size, b'{"a":', b"x}"),
        "spaces": lambda: repeated(b" ", size),
        "signs": lambda: repeated(b"-", size),
    }


def yaml_bodies(size: int = MAX_BYTES) -> Bodies:
    nested = b"a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)
    )
    grown = (
        b"a0: &a0 "
        + b"[" * 200
        + b"]" * 200
        + b"\n"
        + b"".join(
            b"a%d: &a%d %s*a%d%s\n" % (n, n, b"[" * 200, n - 1, b"]" * 200) for n in range(1, 20)
        )
    )
    return {
        "block list": lambda: repeated(b"- a\n", size, b"a:\n"),
        "flow list": lambda: repeated(b"a,", size, b"[", b"a]"),
        "flow maps": lambda: repeated(b"{a: 1},", size, b"[", b"1]"),
        "keys": lambda: b"".join(b"k%d: 1\n" % n for n in range(size // 12)),
        "one key again and again": lambda: repeated(b"a: 1\n", size),
        "nested aliases": lambda: nested,
        "aliases that grow in depth": lambda: grown,
        "aliases of a long text": lambda: (
            b"a: &x "
            + b"t" * (size // 3)
            + b"\n"
            + b"".join(b"k%d: *x\n" % n for n in range(size // 30))
        ),
        "anchors": lambda: b"".join(b"k%d: &a%d x\n" % (n, n) for n in range(size // 20)),
        "merges": lambda: (
            b"a: &a {%s}\n" % b", ".join(b"k%d: 1" % n for n in range(1000))
            + repeated(b"- <<: *a\n", size // 2, b"b:\n")
        ),
        "too deep": lambda: repeated(b"[", size),
        "deep block": lambda: b"\n".join(b" " * n + b"a:" for n in range(min(2000, size // 1000))),
        "unfinished text": lambda: repeated(b"a\n", size, b'a: "'),
        "plain text": lambda: repeated(b"a ", size, b"a: "),
        "literal text": lambda: repeated(b"  a\n", size, b"a: |\n"),
        "digits": lambda: repeated(b"9", size, b"a: "),
        "hexadecimal": lambda: repeated(b"f", size, b"a: 0x"),
        "flag": lambda: b"a: !!bool x\n",
        "moment": lambda: b"a: !!timestamp x\n",
        "number": lambda: b"a: !!int x\n",
        "binary": lambda: b"a: !!binary x\n",
        "unknown tag": lambda: b"a: !!python/object:os.system x\n",
        "not text": lambda: repeated(b"\xff", size),
        "colons": lambda: repeated(b": ", size),
        "questions": lambda: repeated(b"? ", size),
        "documents": lambda: repeated(b"--- a\n", size),
    }


def message_bodies(struct: Struct, api_version: str, size: int = MAX_BYTES) -> Bodies:
    """Messages with a valid envelope and invalid content, and vice versa."""

    def envelope(content: bytes, version: bytes = api_version.encode()) -> bytes:
        meta = delimited(key(1, BYTES), version) + delimited(key(2, BYTES), struct.name.encode())
        return MAGIC + delimited(key(1, BYTES), meta) + delimited(key(2, BYTES), content)

    metadata = key(1, BYTES)
    moment = delimited(key(8, BYTES), key(1, VARINT) + varint(2**60))
    nested = b""
    for _ in range(5000):
        nested = delimited(metadata, nested)
    return {
        "unknown fields": lambda: envelope(repeated(key(1000, VARINT) + b"\x01", size)),
        "one field again and again": lambda: envelope(repeated(delimited(metadata, b""), size)),
        "labels": lambda: envelope(
            delimited(metadata, repeated(delimited(key(11, BYTES), b""), size - 200))
        ),
        "seconds out of range": lambda: envelope(delimited(metadata, moment)),
        "version that is no text": lambda: envelope(b"", b"\xff\xfe"),
        "text that is none": lambda: envelope(
            delimited(metadata, delimited(key(1, BYTES), b"\xff"))
        ),
        "wrong wire type": lambda: envelope(delimited(metadata, key(1, VARINT) + b"\x01")),
        "varint without end": lambda: envelope(b"\xff" * 20),
        "length beyond the end": lambda: envelope(key(1, BYTES) + varint(2**40)),
        "deep": lambda: envelope(nested),
    }


_SAMPLES: dict[str, Callable[[int], Any]] = {
    "string": lambda number: f"a{number}",
    "bool": lambda number: True,
    "int32": lambda number: 1 + number % 60_000,
    "int64": lambda number: 1 + number % 60_000,
    "double": lambda number: 1.5,
    "bytes": lambda number: "YQ==",
    "Time": lambda number: "2024-01-02T03:04:05Z",
    "MicroTime": lambda number: "2024-01-02T03:04:05.000001Z",
    "Quantity": lambda number: "1",
    "IntOrString": lambda number: 1 + number % 60_000,
    "raw": lambda number: {"a": number},
    "any": lambda number: number,
}


def sample(node: Type, number: int, levels: int) -> Any:
    """Return a value of a type that differs for each number; texts look like names."""
    match node:
        case Scalar(name=name):
            return _SAMPLES[name](number)
        case ListOf(element=element):
            return [sample(element, number, levels - 1)] if levels > 0 else []
        case MapOf(element=element):
            return {f"k{number}": sample(element, number, levels - 1)} if levels > 0 else {}
        case Struct(fields=fields):
            if levels <= 0:
                return {}
            return {name: _of_field(field, number, levels - 1) for name, field in fields.items()}


def _of_field(field: Field, number: int, levels: int) -> Any:
    if field.message is None:
        return sample(field.type, number, levels)
    # A field with alternative types can be an object.
    value = sample(field.message.fields["schema"].type, number, levels - 1)
    return {f"k{number}": value} if isinstance(field.type, MapOf) else value


def long_lists(
    root: Struct, size: int, seen: set[int], only: Set[str] | None = None
) -> Iterator[tuple[str, Object]]:
    """Yield objects of a type, each with one long list or map: of empty items, of equal items, and
    of distinct items. Each list of each struct comes once; `seen` holds the ids of visited
    structs. `only` restricts the objects by name."""
    for path, node in _collections(root, seen):
        for items, make in _ITEMS.items():
            name = f"{'.'.join(path)}: {items}"
            if only is None or name in only:
                value = _filled(node, make, size)
                for step in reversed(path):
                    value = [value] if step == "[]" else {step: value}
                yield name, value


def _collections(root: Struct, seen: set[int]) -> Iterator[tuple[tuple[str, ...], ListOf | MapOf]]:
    todo: list[tuple[tuple[str, ...], Type]] = [((), root)]
    while todo:
        path, node = todo.pop(0)
        if isinstance(node, (ListOf, MapOf)):
            yield path, node
            todo.append(((*path, "[]" if isinstance(node, ListOf) else "k"), node.element))
        elif isinstance(node, Struct) and id(node) not in seen:
            seen.add(id(node))
            todo += [((*path, name), field.type) for name, field in node.fields.items()]


_ITEMS: dict[str, Callable[[Type, int], Any]] = {
    "empty": lambda node, number: {} if isinstance(node, Struct) else sample(node, 0, 0),
    "alike": lambda node, number: sample(node, 1, 2),
    "different": lambda node, number: sample(node, number, 2),
}


def _filled(node: ListOf | MapOf, make: Callable[[Type, int], Any], size: int) -> Any:
    length = len(json.dumps(make(node.element, 1_000))) + (2 if isinstance(node, ListOf) else 10)
    items = [make(node.element, number) for number in range(max(2, size // length))]
    if isinstance(node, ListOf):
        return items
    return {f"k{number}": item for number, item in enumerate(items)}
