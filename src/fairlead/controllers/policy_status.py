"""Checks the types of expressions in validating admission policies and writes the result to their
status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from fairlead.admission.policies.type_checks import check_types
from fairlead.base import budget
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.base.meter import OverBudget
from fairlead.controllers.framework import Keys
from fairlead.operations.client import Client
from fairlead.resources.registry import Resources
from fairlead.storage.version import Change

logger = Logger("fairlead")

POLICIES = "admissionregistration/v1/validatingadmissionpolicies"


class PolicyStatus:
    """Keys are names of policies."""

    name = "validatingadmissionpolicy-status-controller"
    workers = 2

    def __init__(self, objects: Client, resources: Resources) -> None:
        self._objects = objects
        self._resources = resources

    def follows(self) -> Mapping[str, Keys]:
        return {POLICIES: _written}

    async def sync(self, key: str) -> None:
        policy = self._objects.find(POLICIES, "", key)
        if policy is None:
            return
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return
        spec = policy["spec"]
        size = len(orjson.dumps(spec))
        try:
            warnings = await budget.run(size, check_types, spec, self._resources)
        except OverBudget as error:  # it would fail again
            logger.warning("the types of a policy are not checked", policy=key, err=error)
            warnings = []
        checking = {
            "expressionWarnings": [
                {"fieldRef": warned.field, "warning": warned.warning} for warned in warnings
            ]
        }
        status = {
            "observedGeneration": generation,
            "typeChecking": checking if warnings else {},
        }
        try:
            value = {"metadata": {"name": key}, "status": status}
            await self._objects.apply(POLICIES, value, subresource="status")
        except StatusError as error:
            if error.reason != "NotFound":
                raise


def _written(change: Change) -> Iterable[str]:
    return () if change.deleted else (change.name,)
