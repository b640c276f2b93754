"""The expressions of admission policies and match conditions: their variables, their types, and
the errors of those that do not compile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from fairlead.base import meter
from fairlead.base.release import Release
from fairlead.codec.cel import authorizer, patches
from fairlead.codec.cel.compile import Program, compile_expression
from fairlead.codec.cel.environment import Environment, environment
from fairlead.codec.cel.errors import CompileError, ConstantProblem
from fairlead.codec.cel.types import (
    BOOL,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    LazyType,
    ListType,
    MapType,
    ObjectType,
    Type,
)
from fairlead.resources.causes import Causes

_STEPS_PER_CHARACTER = 50  # budget of compiling an expression
_STRINGS = ListType(STRING)
_LABELS = MapType(STRING, STRING)
_KIND = ObjectType(
    "kubernetes.GroupVersionKind", {"group": STRING, "version": STRING, "kind": STRING}
)
_RESOURCE = ObjectType(
    "kubernetes.GroupVersionResource", {"group": STRING, "version": STRING, "resource": STRING}
)
_USER = ObjectType(
    "kubernetes.UserInfo",
    {
        "username": STRING,
        "uid": STRING,
        "groups": _STRINGS,
        "extra": MapType(STRING, _STRINGS),
    },
)
REQUEST = ObjectType(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
_CONDITION = ObjectType(
    "kubernetes.NamespaceCondition",
    {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
)
_NAMESPACE_METADATA = ObjectType(
    "kubernetes.NamespaceMetadata",
    {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": _LABELS,
        "annotations": _LABELS,
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _STRINGS,
    },
)
NAMESPACE = ObjectType(
    "kubernetes.Namespace",
    {
        "metadata": _NAMESPACE_METADATA,
        "spec": ObjectType("kubernetes.NamespaceSpec", {"finalizers": _STRINGS}),
        "status": ObjectType(
            "kubernetes.NamespaceStatus", {"conditions": ListType(_CONDITION), "phase": STRING}
        ),
    },
)


@cache
def _environment(release: Release, *, has_patches: bool) -> Environment:
    of_release = environment(release)
    return of_release.extended(patches.LIBRARY) if has_patches else of_release


class ExpressionError(ValueError):
    """An expression that does not compile. `is_internal`: it compiles and would always fail."""

    def __init__(self, detail: str, *, is_internal: bool = False) -> None:
        super().__init__(detail)
        self.is_internal = is_internal


class Declared(NamedTuple):
    """What an expression may refer to besides the objects and the request. `patches`: the types
    that a mutation constructs."""

    params: bool = False
    authorizer: bool = True
    patches: bool = False


class Expressions:
    """The expressions of one policy. `has_variables`: they may refer to its variables, which
    `declare` adds one by one. The types of objects and parameters are those of a matched kind in
    type checks and not known otherwise."""

    def __init__(
        self,
        release: Release,
        *,
        has_variables: bool = False,
        objects: Type = DYN,
        params: Type = DYN,
    ) -> None:
        self.release = release
        self._variables: dict[str, Type] = {}
        self._composed = LazyType("kubernetes.variables", self._variables)
        self._has_variables = has_variables
        self._objects = objects
        self._params = params

    def declare(self, name: str, type_: Type | None) -> None:
        """Add a variable of the policy; None is the type of one that does not compile."""
        self._variables[name] = DYN if type_ is None else _declared_type(type_)

    def compile(self, text: str, results: Sequence[str], declared: Declared) -> Program:
        """Compile an expression whose type must be one of `results`, any type if there are none.
        Raises ExpressionError."""
        meter.spend(_STEPS_PER_CHARACTER * len(text))
        used = _environment(self.release, has_patches=declared.patches)
        try:
            program = compile_expression(text, self._scope(declared), None, used)
        except CompileError as error:
            raise ExpressionError(str(error)) from None
        except ConstantProblem as error:
            raise ExpressionError(str(error), is_internal=True) from None
        actual = type_text(program.result_type)
        if results and actual not in results:
            expected = results[0] if len(results) == 1 else f"one of [{' '.join(results)}]"
            raise ExpressionError(f"must evaluate to {expected} but got {actual}")
        return program

    def _scope(self, declared: Declared) -> dict[str, Type]:
        scope: dict[str, Type] = {
            "object": self._objects,
            "oldObject": self._objects,
            "namespaceObject": NAMESPACE,
            "request": REQUEST,
        }
        if declared.params:
            scope["params"] = self._params
        if declared.authorizer:
            scope["authorizer"] = authorizer.AUTHORIZER
            scope["authorizer.requestResource"] = authorizer.RESOURCE_CHECK
        if self._has_variables:
            scope["variables"] = self._composed
        return scope

    def check(
        self,
        text: str,
        results: Sequence[str],
        declared: Declared,
        path: str,
        causes: Causes,
        *,
        shown: str = "",
    ) -> Type | None:
        """Compile an expression of an object that is written. Returns its type, None if it does
        not compile. `shown` is the text in the message if it differs."""
        try:
            return self.compile(text, results, declared).result_type
        except ExpressionError as error:
            if error.is_internal:
                causes.internal(path, str(error))
            else:
                causes.invalid(path, shown or text, str(error))
            return None


_TEXTS: dict[Type, str] = {
    TIMESTAMP: "google.protobuf.Timestamp",
    DURATION: "google.protobuf.Duration",
    NULL: "null_type",
}


def type_text(type_: Type) -> str:
    """A type as messages about results name it."""
    if isinstance(type_, ListType):
        return f"list({type_text(type_.element)})"
    if isinstance(type_, MapType):
        return f"map({type_text(type_.key)}, {type_text(type_.value)})"
    return _TEXTS.get(type_) or str(type_)


def _declared_type(type_: Type) -> Type:
    """The type of a variable as other expressions see it: the reference keeps those of scalars,
    lists and maps."""
    if isinstance(type_, ListType):
        return ListType(_declared_type(type_.element))
    if isinstance(type_, MapType):
        return MapType(_declared_type(type_.key), _declared_type(type_.value))
    return type_ if str(type_) in _KEPT_TYPES else DYN


_KEPT_TYPES = frozenset(
    ("bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint")
)
