"""Compiles schemas for tests, and validates objects with them."""

from __future__ import annotations

from typing import Any

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.custom_schema import CustomSchema, compile_schema

TYPES = BuiltinTypes(KUBERNETES)
METADATA = TYPES.struct("meta/v1.ObjectMeta")


def compiled(schema: dict[str, Any] | None, **more: Any) -> CustomSchema:
    return compile_schema(
        schema,
        kind="Widget",
        api_version="example.com/v1",
        markers="kubernetes",
        metadata=METADATA,
        **more,
    )


def of_spec(spec: dict[str, Any], **more: Any) -> CustomSchema:
    """The schema of a kind whose spec has this schema."""
    return compiled({"type": "object", "properties": {"spec": spec}}, **more)


def of_field(field: dict[str, Any], **more: Any) -> CustomSchema:
    """The schema of a kind whose spec has one field, `f`."""
    return of_spec({"type": "object", "properties": {"f": field}}, **more)


def widget(spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": spec}


def decoded(schema: CustomSchema, spec: Any) -> Any:
    """Return a spec after pruning and defaults."""
    value = decoder(schema.struct)(widget(spec), [])
    schema.fill_defaults(value)
    return value["spec"]


def errors_of(schema: CustomSchema, spec: Any, old: Any = None) -> list[tuple[str, str, str]]:
    """Field, reason (without its prefix) and message of everything wrong with a spec."""
    causes = Causes()
    value = decoder(schema.struct)(widget(spec), [])
    schema.validate(value, None if old is None else widget(old), causes)
    return [
        (cause.field, cause.reason.removeprefix("FieldValue"), cause.message) for cause in causes
    ]
