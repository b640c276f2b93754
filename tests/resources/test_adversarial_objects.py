"""Objects with one list filled to its maximum, for each list of the type model: decoding, defaults
and validation take proportional time, and messages are bounded."""

from __future__ import annotations

import gc
import json
from time import process_time
from typing import Any

import orjson
import pytest
from support.adversarial import long_lists
from support.pace import in_time

from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import MAX_CAUSES, TooManyCauses, invalid
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.resources.catalogue import behaviour_of
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resource, Resources

Object = dict[str, Any]

SIZE = 30_000
# For so many bytes of a decoded object; a quadratic check takes several times as long.
MAX_SECONDS = 0.05
# Every item of a schema is a schema of its own, with rules of its own.
MAX_SECONDS_OF_SCHEMAS = 0.4
MAX_ANSWER_BYTES = 1024 * 1024

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))


def cases() -> list[Any]:
    """Each struct's lists in the first kind that has them."""
    seen: set[int] = set()
    results = []
    for group_version in RESOURCES.group_versions():
        for resource in group_version.resources.values():
            if "create" in resource.verbs:
                lists = list(long_lists(resource.stored_struct, 10, seen))
                results.append((resource, {name for name, _ in lists}))
    return [pytest.param(*case, id=case[0].key) for case in results if case[1]]


def read(resource: Resource, raw: bytes, context: Context) -> Object:
    decoded: Object = decoder(resource.stored_struct)(orjson.loads(raw), [])
    decoded["metadata"].update({"name": "a", "resourceVersion": "1"})
    if resource.namespaced:
        decoded["metadata"]["namespace"] = "ns"
    fill_defaults(resource.stored_struct, decoded)
    behaviour_of(resource).fill_defaults(decoded, context)
    return decoded


def checked(resource: Resource, decoded: Object, old: Object, context: Context) -> Causes:
    """Return the errors of an object that is created and then updated without a change."""
    behaviour = behaviour_of(resource)
    causes = Causes()
    try:
        behaviour.prepare_create(decoded, context)
        behaviour.check_create(decoded, causes, context)
        behaviour.prepare_update(decoded, old, context)
        behaviour.check_update(decoded, old, causes, context)
        behaviour.warnings(decoded, None, context)
    except TooManyCauses:
        pass
    return causes


def best_of_three(resource: Resource, raw: bytes) -> tuple[float, Causes]:
    """Return the seconds for every SIZE bytes, and the errors."""
    spent = []
    for _ in range(3):
        context = Context(KUBERNETES, Gates({}), lambda *_: None, user_name="me")
        before = process_time()
        value = read(resource, raw, context)
        seconds = process_time() - before
        written = orjson.dumps(value)
        old = orjson.loads(written)
        before = process_time()
        causes = checked(resource, value, old, context)
        spent.append((seconds + process_time() - before) / max(1, len(written) / SIZE))
        if spent[-1] < MAX_SECONDS:
            break
    return min(spent), causes


@pytest.mark.parametrize(("resource", "names"), cases())
def test_a_long_list_takes_time_in_proportion(resource: Resource, names: set[str]) -> None:
    gc.disable()
    try:
        for name, value in long_lists(resource.stored_struct, SIZE, set(), names):
            seconds, causes = best_of_three(resource, orjson.dumps(value))
            of_schemas = resource.group_version.short == "apiextensions"
            maximum = MAX_SECONDS_OF_SCHEMAS if of_schemas else MAX_SECONDS
            assert in_time(seconds, maximum), name
            assert len(causes) <= MAX_CAUSES
            if causes:
                answer = json.dumps(invalid(resource.ref("a"), causes).status())
                assert len(answer) < MAX_ANSWER_BYTES, name
    finally:
        gc.enable()
