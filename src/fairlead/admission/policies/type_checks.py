"""Checks the expressions of validating policies against the types of the kinds they match. The
policies work regardless of the result, which is shown in their status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from fairlead.admission.policies.parameters import param_resource
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    Type,
)
from fairlead.codec.types import model
from fairlead.codec.types.model import Object
from fairlead.resources.admissionregistration.expressions import (
    Declared,
    ExpressionError,
    Expressions,
)
from fairlead.resources.custom.schema.rule_types import escaped
from fairlead.resources.registry import Resource, Resources

MAX_TYPES = 10  # kinds of one rule that are checked
_FAILED = "compilation failed: "
_SCALARS: dict[str, Type] = {
    "string": STRING,
    "int32": INT,
    "int64": INT,
    "bool": BOOL,
    "double": DOUBLE,
    "bytes": BYTES,
    "Time": TIMESTAMP,
    "MicroTime": TIMESTAMP,
    "Duration": STRING,
    "Quantity": STRING,
}


class Warned(NamedTuple):
    """An expression that does not fit a matched kind."""

    field: str
    warning: str


def check_types(spec: Object, resources: Resources) -> list[Warned]:
    """Check the validations of a policy and their messages."""
    kinds = _matched_kinds(spec, resources)
    param_kind = spec.get("paramKind")
    params = param_resource(resources, param_kind) if param_kind is not None else None
    params_type = DYN if params is None else object_type(params)
    environments = [
        (_title(kind), _environment(spec, resources, object_type(kind), params_type))
        for kind in kinds
    ]
    declared = Declared(params=param_kind is not None)
    warnings: list[Warned] = []
    for index, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            text = validation.get(name)
            problems = [
                f"{title}: {problem}\n"
                for title, environment in environments
                if text and (problem := _problem(environment, text, declared))
            ]
            if problems:
                field = f"spec.validations[{index}].{name}"
                warnings.append(Warned(field, "\n".join(problems)))
    return warnings


def _environment(spec: Object, resources: Resources, objects: Type, params: Type) -> Expressions:
    """The environment for objects of one kind, with the variables of the policy."""
    expressions = Expressions(resources.release, has_variables=True, objects=objects, params=params)
    declared = Declared(params=spec.get("paramKind") is not None)
    for variable in spec.get("variables") or ():
        type_: Type | None = None
        with suppress(ExpressionError):
            type_ = expressions.compile(variable["expression"], (), declared).result_type
        expressions.declare(variable["name"], type_)
    return expressions


def _problem(expressions: Expressions, text: str, declared: Declared) -> str:
    try:
        expressions.compile(text, (), declared)
    except ExpressionError as error:
        return "" if error.is_internal else str(error).removeprefix(_FAILED)
    return ""


def _title(resource: Resource) -> str:
    return f"{resource.group}/{resource.group_version.version}, Kind={resource.kind}"


def _matched_kinds(spec: Object, resources: Resources) -> list[Resource]:
    """The kinds that the rules of a policy name, without wildcards."""
    found: dict[str, Resource] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        for count, resource in enumerate(_named_resources(rule, resources), 1):
            found.setdefault(_title(resource), resource)
            if count == MAX_TYPES:
                return _sorted(found)
    return _sorted(found)


def _sorted(kinds: Mapping[str, Resource]) -> list[Resource]:
    return sorted(
        kinds.values(),
        key=lambda resource: (resource.group, resource.group_version.version, resource.kind),
    )


def _named_resources(rule: Object, resources: Resources) -> Iterator[Resource]:
    groups, versions = set(rule.get("apiGroups") or ()), set(rule.get("apiVersions") or ())
    if any("*" in name for name in (*groups, *versions)):
        return
    names = set(rule.get("resources") or ())
    # Only served names: a rule may name thousands of each.
    for group in sorted(groups & resources.groups.keys()):
        served = resources.groups[group]
        for version in sorted(versions & served.keys()):
            listed = served[version].resources
            for name in sorted(names & listed.keys()):
                yield listed[name]


# The types of objects


def object_type(resource: Resource) -> ObjectType:
    """The type of the objects of a resource, with kind and apiVersion."""
    fields = _Fields(resource.struct, resource.kind)
    fields.kept.update(kind=STRING, apiVersion=STRING)
    return ObjectType(resource.kind, fields, fields.properties)


class _Fields(Mapping[str, Type]):
    """Maps the names of a struct's fields in expressions to their types. A type is built on first
    access: structs may contain themselves."""

    def __init__(self, struct: model.Struct, name: str) -> None:
        self._name = name
        self._members = {
            shown: field.type
            for key, field in struct.fields.items()
            if (shown := escaped(key)) is not None
        }
        self.properties = {
            shown: key for key in struct.fields if (shown := escaped(key)) not in (None, key)
        }
        self.kept: dict[str, Type] = {}

    def __getitem__(self, name: str) -> Type:
        type_ = self.kept.get(name)
        if type_ is None:
            type_ = self.kept[name] = _type_of(self._members[name], f"{self._name}.{name}")
        return type_

    def __iter__(self) -> Iterator[str]:
        return iter({**self._members, **self.kept})

    def __len__(self) -> int:
        return len({**self._members, **self.kept})


def _type_of(type_: model.Type, name: str) -> Type:
    if isinstance(type_, model.ListOf):
        return ListType(_type_of(type_.element, f"{name}.@idx"))
    if isinstance(type_, model.MapOf):
        return MapType(STRING, _type_of(type_.element, f"{name}.@elem"))
    if isinstance(type_, model.Struct):
        if type_.preserve_unknown and not type_.fields:
            return DYN
        fields = _Fields(type_, name)
        return ObjectType(name, fields, fields.properties)
    return _SCALARS.get(type_.name, DYN)
