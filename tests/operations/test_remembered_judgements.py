"""Cached applies are dropped when anything that they depend on changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from support.api import NAMESPACES, on_api, operation, system
from support.writes import apply

from fairlead.admission.chain import Chain
from fairlead.admission.plugins.pod_security.plugin import PodSecurity
from fairlead.base.dialect import KUBERNETES
from fairlead.base.waiting import result_of
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.storage.collection import Collection

PODS = "core/v1/pods"
OPTIONS = WriteOptions(False, "tester", "Strict")
POLICY = "pod-security.kubernetes.io/enforce-policy"
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "work"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
RAW = orjson.dumps(POD)


async def _applied(api: Api) -> tuple[bool, Operation]:
    """Apply the pod; whether the answer was known."""
    request = operation(api, "patch", "a", PODS)
    known = await result_of(api.known_applies.find(api, request, RAW, OPTIONS))
    if known is None:
        before = api.known_applies.before(api, request)
        await apply(api, request, orjson.loads(RAW), OPTIONS)
        api.known_applies.keep(api, request, RAW, OPTIONS, before)
    return known is not None, request


async def _label(api: Api, labels: dict[str, str]) -> None:
    def labelled(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "metadata": {**old["metadata"], "labels": labels}}

    await system(api).change(NAMESPACES, "", "work", labelled)


def test_a_namespace_that_changes_makes_applies_unknown(tmp_path: Path) -> None:
    async def work(api: Api) -> list[bool]:
        known = [(await _applied(api))[0] for _ in range(3)]
        await _label(api, {"a": "b"})
        return known + [(await _applied(api))[0] for _ in range(2)]

    assert on_api(tmp_path, work) == [False, False, True, False, True]


def test_a_known_apply_tells_the_audit_log_the_same(tmp_path: Path) -> None:
    async def work(api: Api) -> list[tuple[bool, dict[str, str]]]:
        def collection(key: str) -> Collection:
            return api.collection(api.resources.named(key))

        api.admission = Chain([PodSecurity(KUBERNETES, api.namespace, collection)])
        requests = [await _applied(api) for _ in range(3)]
        return [(known, item.annotations) for known, item in requests]

    value = {POLICY: "privileged:latest"}
    assert on_api(tmp_path, work) == [(False, value), (False, value), (True, value)]
