"""Compiles the expressions of a policy, once for each version of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.base.release import Release
from fairlead.codec.cel.compile import Program
from fairlead.codec.types.model import Object
from fairlead.resources.admissionregistration.expressions import (
    Declared,
    ExpressionError,
    Expressions,
)


class Expression(NamedTuple):
    """A compiled expression. Without a program it does not compile; `error` says why."""

    text: str
    program: Program | None
    error: str = ""


class Validation(NamedTuple):
    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str


class AuditAnnotation(NamedTuple):
    key: str
    expression: Expression


class Mutation(NamedTuple):
    is_json_patch: bool
    expression: Expression


class CompiledPolicy(NamedTuple):
    """The expressions of a policy. A validating policy has no mutations, a mutating one only
    these."""

    variables: Mapping[str, Expression]
    conditions: Sequence[Expression]
    validations: Sequence[Validation] = ()
    annotations: Sequence[AuditAnnotation] = ()
    mutations: Sequence[Mutation] = ()


class _Compiler:
    def __init__(self, spec: Object, release: Release) -> None:
        self._spec = spec
        self._expressions = Expressions(release, has_variables=True)
        self._declared = Declared(params=spec.get("paramKind") is not None)

    def compiled(
        self, text: str, results: Sequence[str], declared: Declared | None = None
    ) -> Expression:
        try:
            program = self._expressions.compile(text, results, declared or self._declared)
        except ExpressionError as error:
            return Expression(text, None, str(error))
        return Expression(text, program)

    def policy(self) -> CompiledPolicy:
        spec = self._spec
        variables: dict[str, Expression] = {}
        for variable in spec.get("variables") or ():
            name = variable["name"]
            expression = variables[name] = self.compiled(variable["expression"], ())
            program = expression.program
            self._expressions.declare(name, None if program is None else program.result_type)
        return CompiledPolicy(
            variables,
            compiled_conditions(spec.get("matchConditions") or (), self),
            [self._validation(validation) for validation in spec.get("validations") or ()],
            [self._annotation(annotation) for annotation in spec.get("auditAnnotations") or ()],
            [self._mutation(mutation) for mutation in spec.get("mutations") or ()],
        )

    def _validation(self, validation: Object) -> Validation:
        text = validation.get("messageExpression")
        declared = self._declared._replace(authorizer=False)
        return Validation(
            self.compiled(validation["expression"], ("bool",)),
            validation.get("message", ""),
            self.compiled(text, ("string",), declared) if text else None,
            validation.get("reason") or "Invalid",
        )

    def _annotation(self, annotation: Object) -> AuditAnnotation:
        expression = self.compiled(annotation["valueExpression"], ("string", "null_type"))
        return AuditAnnotation(annotation["key"], expression)

    def _mutation(self, mutation: Object) -> Mutation:
        declared = self._declared._replace(patches=True)
        if mutation["patchType"] == "JSONPatch":
            text = mutation["jsonPatch"].get("expression", "")
            return Mutation(True, self.compiled(text, ("list(JSONPatch)",), declared))
        text = mutation["applyConfiguration"].get("expression", "")
        return Mutation(False, self.compiled(text, ("Object",), declared))


def compile_policy(spec: Object, release: Release) -> CompiledPolicy:
    return _Compiler(spec, release).policy()


def compiled_conditions(conditions: Sequence[Object], compiler: _Compiler) -> Sequence[Expression]:
    return [compiler.compiled(condition["expression"], ("bool",)) for condition in conditions]


def compile_conditions(conditions: Sequence[Object], release: Release) -> Sequence[Expression]:
    """Compile the match conditions of a webhook."""
    return compiled_conditions(conditions, _Compiler({}, release))
