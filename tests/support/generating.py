"""Generates objects from the type model."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

from hypothesis import strategies as st

from fairlead.codec.types.model import ListOf, MapOf, Scalar, Struct, Type

small = st.integers(-(2**31), 2**31 - 1)
json_values = st.recursive(
    st.none() | st.booleans() | small | st.text(max_size=5),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=6),
    "bool": st.booleans(),
    "int32": small,
    "int64": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "bytes": st.binary(max_size=6).map(lambda raw: base64.b64encode(raw).decode()),
    "Time": st.sampled_from(["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.5+01:00"]),
    "MicroTime": st.sampled_from(["2024-01-02T03:04:05.000001Z"]),
    "Quantity": st.sampled_from(["1", "0.5", "1024Ki", "1e3", 5, 1.5, "100m", "-3"]),
    "IntOrString": st.one_of(small, st.sampled_from(["", "50%", "http"])),
    "raw": st.dictionaries(st.text(max_size=4), json_values, max_size=2),
    "any": json_values,
}


@cache
def values_of(node: Type, depth: int) -> st.SearchStrategy[Any]:
    """Generate anything that a client may send for a type; null is allowed everywhere."""
    match node:
        case Scalar(name=name):
            inner = SCALARS[name]
        case ListOf(element=element):
            inner = st.lists(values_of(element, depth - 1), max_size=2) if depth else st.just([])
        case MapOf(element=element):
            inner = (
                st.dictionaries(st.text(max_size=4), values_of(element, depth - 1), max_size=2)
                if depth
                else st.just({})
            )
        case Struct():
            inner = objects_of(node, depth)
    return st.one_of(inner, inner, inner, st.none())


@cache
def objects_of(struct: Struct, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    if depth <= 0:
        return st.just({})

    @st.composite
    def build(draw: st.DrawFn) -> dict[str, Any]:
        names = sorted(struct.fields)
        chosen = draw(st.lists(st.sampled_from(names), max_size=6, unique=True)) if names else []
        return {name: draw(values_of(struct.fields[name].type, depth - 1)) for name in chosen}

    return build()
