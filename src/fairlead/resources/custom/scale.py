"""The Scale of a custom resource, at the paths that its definition names."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.base.errors import StatusError
from fairlead.codec.types.mismatch import any_type_text, plain_text
from fairlead.codec.types.model import Object
from fairlead.resources.causes import Causes

_MAX_REPLICAS = 2**31 - 1
UNSET = -(2**31)  # marks an absent number in a Scale that is being patched
_MISSING = object()


class ScalePaths(NamedTuple):
    """The paths of the desired and actual number of replicas, and of the selector if any."""

    spec: tuple[str, ...]
    status: tuple[str, ...]
    selector: tuple[str, ...] = ()

    @staticmethod
    def of(scale: Object | None) -> ScalePaths | None:
        if scale is None:
            return None
        return ScalePaths(
            _steps(scale["specReplicasPath"]),
            _steps(scale["statusReplicasPath"]),
            _steps(scale.get("labelSelectorPath") or ""),
        )

    def read(self, value: Object) -> Object:
        """The spec and status of the Scale; raises 404 if the object has no spec replicas."""
        spec_replicas = _find_value(value, self.spec)
        if spec_replicas is _MISSING:
            raise StatusError(
                404, "NotFound", f'the spec replicas field "{shown(self.spec)}" does not exist'
            )
        status: Object = {"replicas": _number(_find_value(value, self.status), self.status)}
        selector = _find_value(value, self.selector) if self.selector else ""
        if isinstance(selector, str) and selector:
            status["selector"] = selector
        replicas = _number(spec_replicas, self.spec)
        return {"spec": {"replicas": replicas} if replicas else {}, "status": status}

    def is_set(self, value: Object) -> bool:
        return _find_value(value, self.spec) is not _MISSING

    def write(self, value: Object, replicas: int) -> Object:
        """A copy of the object with another number of replicas; only the maps on the path are
        copied."""
        result = node = {**value}
        for step in self.spec[:-1]:
            below = node.get(step)
            node[step] = {**below} if isinstance(below, dict) else {}
            node = node[step]
        node[self.spec[-1]] = replicas
        return result

    def check(self, value: Object, causes: Causes, *, spec: bool) -> None:
        """Check that the numbers of replicas are integers in the range of a Scale, and that the
        selector is a string."""
        for steps in (self.spec, self.status) if spec else (self.status,):
            replicas = _check_value(value, steps, "int64", 0, causes)
            if replicas is None:
                continue
            if replicas < 0:
                causes.invalid(shown(steps), replicas, "should be a non-negative integer")
            elif replicas > _MAX_REPLICAS:
                detail = f"should be less than or equal to {_MAX_REPLICAS}"
                causes.invalid(shown(steps), replicas, detail)
        if self.selector:
            _check_value(value, self.selector, "string", "", causes)


def _check_value(
    value: Any, steps: tuple[str, ...], type_name: str, zero: Any, causes: Causes
) -> Any:
    """The value at a path; None if it is absent or has the wrong type. Adds a cause for a value of
    the wrong type, at the path or above it. `zero` is the value that the message shows."""
    node = value
    for index, step in enumerate(steps):
        if node is None:
            return None
        if not isinstance(node, dict):
            _add_type_cause(steps, index + 1, node, "map[string]interface{}", zero, causes)
            return None
        if step not in node:
            return None
        node = node[step]
    if any_type_text(node) != type_name:
        _add_type_cause(steps, len(steps), node, type_name, zero, causes)
        return None
    return node


def _add_type_cause(
    steps: tuple[str, ...], count: int, actual: Any, type_name: str, zero: Any, causes: Causes
) -> None:
    detail = f"{plain_text(actual)} is of the type {any_type_text(actual)}, expected {type_name}"
    causes.invalid(shown(steps), zero, f"{shown(steps[:count])} accessor error: {detail}")


def shown(steps: tuple[str, ...]) -> str:
    return "." + ".".join(steps)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()


def _find_value(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return _MISSING
        value = value[step]
    return value


def _number(actual: Any, steps: tuple[str, ...]) -> int:
    """A number of replicas; 0 if the status has none yet."""
    if actual is _MISSING or actual is None:
        return 0
    if not isinstance(actual, int) or isinstance(actual, bool):
        raise StatusError(
            422, "Invalid", f"{shown(steps)} is of the type {type(actual).__name__}, not a number"
        )
    return actual
