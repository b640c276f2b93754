"""Stages for a test: what happens to objects in place of an operator that does not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from json import dumps
from typing import Any

from fairlead.client.conditions import has_condition
from fairlead.client.discovery import UnknownKind
from fairlead.client.errors import NotFound
from fairlead.client.sync import SyncClient
from fairlead.testing.contents import Source, objects_of
from fairlead.testing.powers import Lent

Object = dict[str, Any]
# What a jq expression finds: nothing (None), anything (True), or one of these texts.
Wanted = None | bool | str | Sequence[str]

API_VERSION, KIND = "kwok.x-k8s.io/v1alpha1", "Stage"
_ACCEPT_TIMEOUT = 30.0


class Stages(Lent):
    """Stage objects that are removed at the end."""

    def __init__(self, lent: list[Lent], admin: SyncClient, source: Source) -> None:
        """Create the stages and wait until the server plays them; raises ValueError if it does
        not."""
        super().__init__(lent)
        self._admin = admin
        self.names: list[str] = []
        try:
            for value in objects_of(source):
                self._create(value)
        except BaseException:
            self.end()
            raise

    def _create(self, value: Object) -> None:
        name = value["metadata"]["name"]
        if (value["apiVersion"], value["kind"]) != (API_VERSION, KIND):
            raise ValueError(f"{name} is not a {KIND} of {API_VERSION}")
        try:
            stages = self._admin.resource_of(value)
        except UnknownKind:
            flags = "--simulate-nodes or --simulate-stages"
            raise ValueError(f"the server plays no stages; start it with {flags}") from None
        stages.create(value, fieldValidation="Strict")
        self.names.append(name)
        accepted, refused = has_condition("Accepted"), has_condition("Accepted", "False")
        judged = stages.wait(
            name, lambda stage: accepted(stage) or refused(stage), timeout=_ACCEPT_TIMEOUT
        )
        if not accepted(judged):
            (condition,) = (judged or {})["status"]["conditions"]
            raise ValueError(f"stage {name}: {condition['message']}")

    def _end(self) -> None:
        stages = self._admin.resource(f"stages.{API_VERSION.partition('/')[0]}")
        for name in self.names:
            with suppress(NotFound):
                stages.delete(name)


def stage_object(
    name: str,
    api_version: str,
    kind: str,
    matches: Mapping[str, Wanted],
    after: float,
    until: float | None,
    status: Mapping[str, Any] | str | None,
    fields: Mapping[str, Any],
) -> Object:
    """A Stage from what the kit's `stage` is given."""
    delay = {"durationMilliseconds": round(after * 1000)}
    if until is not None:
        delay["jitterDurationMilliseconds"] = round(until * 1000)
    following = dict(fields)
    if status is not None:
        following["statusTemplate"] = status if isinstance(status, str) else dumps(status)
    expressions = [_expression(key, wanted) for key, wanted in matches.items()]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": api_version, "kind": kind},
            "selector": {"matchExpressions": expressions},
            "delay": delay,
            "next": following,
        },
    }


def _expression(key: str, wanted: Wanted) -> Object:
    if wanted is None or isinstance(wanted, bool):
        return {"key": key, "operator": "Exists" if wanted else "DoesNotExist"}
    values = [wanted] if isinstance(wanted, str) else list(wanted)
    return {"key": key, "operator": "In", "values": values}
