"""Fills a server with objects from files or from Python."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.manifests import ADVICE, ManifestError, manifests, parsed
from fairlead.client.conditions import has_condition
from fairlead.client.discovery import UnknownKind
from fairlead.client.errors import AlreadyExists
from fairlead.client.sync import SyncClient

Object = dict[str, Any]
# A file, a folder, YAML text (recognized by a line break), an object, or several objects.
Source = str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]

MANAGER = "fairlead-testing"
DEFINITION = "CustomResourceDefinition"
_EXTENSIONS = "apiextensions.@"
# Other objects depend on these.
_FIRST = {"Namespace": 0, DEFINITION: 1}
_SERVE_TIMEOUT = 30.0
_STEP = 0.01


def objects_of(source: Source) -> list[Object]:
    """Return the objects of a source, with lists expanded; raises ValueError for unreadable
    input."""
    try:
        if isinstance(source, str) and "\n" in source:
            values = [manifest.value for manifest in parsed(source, "the text")]
        elif isinstance(source, str | Path):
            values = [manifest.value for manifest in manifests([str(source)], recursive=True)]
        else:
            values = _as_objects([source] if isinstance(source, Mapping) else source)
    except ManifestError as error:
        text = str(error).removeprefix("error: ").removesuffix(f"; {ADVICE}")
        raise ValueError(text) from None
    for value in values:
        _check(value)
    return values


def _as_objects(values: Iterable[Mapping[str, Any]]) -> list[Object]:
    objects: list[Object] = []
    for value in values:
        if not isinstance(value, Mapping):
            raise ValueError(f"not an object: {value!r:.100}")
        items = value.get("items")
        objects += _as_objects(items) if isinstance(items, list) else [dict(value)]
    return objects


def _check(value: Object) -> None:
    for name in ("apiVersion", "kind", "metadata"):
        if not value.get(name):
            raise ValueError(f"an object without {name}: {value!r:.100}")


def in_order(values: Iterable[Object]) -> list[Object]:
    return sorted(values, key=lambda value: _FIRST.get(value["kind"], len(_FIRST)))


class Contents:
    """Writes objects as the admin."""

    def __init__(self, admin: SyncClient) -> None:
        self._admin = admin

    def apply(self, source: Source, namespace: str | None = None) -> list[Object]:
        """Apply objects and return the results. Namespaces and definitions come first, and
        definitions are served before any other object is applied."""
        applied: list[Object] = []
        waiting: list[int] = []
        for value in in_order(objects_of(source)):
            if value["kind"] == DEFINITION:
                waiting.append(len(applied))
            elif waiting:
                self._finish(applied, waiting)
            applied.append(self._applied(value, namespace))
        self._finish(applied, waiting)
        return applied

    def _finish(self, applied: list[Object], waiting: list[int]) -> None:
        for number in waiting:
            applied[number] = self.await_served(applied[number])
        waiting.clear()

    def _applied(self, value: Object, namespace: str | None) -> Object:
        resource = self._admin.resource_of(value)
        target_namespace = namespace if not value["metadata"].get("namespace") else None
        if not value["metadata"].get("name"):
            return resource.create(value, target_namespace, fieldManager=MANAGER)
        return resource.apply(value, target_namespace, manager=MANAGER, force=True)

    def definitions(self, source: Source) -> list[Object]:
        return self.apply([value for value in objects_of(source) if value["kind"] == DEFINITION])

    def await_definition(self, name: str, dialect: Dialect) -> None:
        """Wait until a definition that the server installs by itself is served."""
        kinds = self._admin.resource(f"customresourcedefinitions.{dialect.group_name(_EXTENSIONS)}")
        definition = kinds.wait(name, lambda value: value is not None, timeout=_SERVE_TIMEOUT)
        assert definition is not None
        self.await_served(definition)

    def await_served(self, definition: Object) -> Object:
        """Wait until objects of a definition can be created, and return the definition; raises
        ValueError if the server rejects it, and TimeoutError."""
        name = definition["metadata"]["name"]
        ends = time.monotonic() + _SERVE_TIMEOUT
        established, refused = has_condition("Established"), has_condition("NamesAccepted", "False")
        served = self._admin.resource_of(definition).wait(
            name, lambda value: established(value) or refused(value), timeout=_SERVE_TIMEOUT
        )
        if served is None or refused(served):
            raise ValueError(f"{name} cannot be served: {_conditions(served or {})}")
        for version in served["spec"]["versions"]:
            if version["served"]:
                self._await_discovered(served["spec"], version["name"], ends)
        return served

    def _await_discovered(self, spec: Object, version: str, ends: float) -> None:
        api_version, kind = f"{spec['group']}/{version}", spec["names"]["kind"]
        while True:
            self._admin.discovery.forget()
            try:
                self._admin.discovery.of_kind(api_version, kind)
                return
            except UnknownKind:
                if time.monotonic() > ends:
                    raise TimeoutError(f"{kind} of {api_version} is not served") from None
                time.sleep(_STEP)

    def ensure_account(self, name: str, namespace: str, role: str, dialect: Dialect) -> None:
        """Create a service account if it is missing; bind it to a cluster role in its namespace if
        one is given."""
        accounts = self._admin.resource("serviceaccounts")
        with suppress(AlreadyExists):
            accounts.create({"metadata": {"name": name}}, namespace)
        if role:
            group = dialect.group_name("rbac.authorization.@")
            subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
            binding = {
                "metadata": {"name": f"{name}-{role}"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [subject],
            }
            with suppress(AlreadyExists):
                self._admin.resource(f"rolebindings.{group}").create(binding, namespace)

    def account_token(self, name: str, namespace: str, dialect: Dialect, seconds: int) -> str:
        group = dialect.group_name("authentication.@")
        request = {
            "apiVersion": f"{group}/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        accounts = self._admin.resource("serviceaccounts")
        answer = accounts.create(request, namespace, name=name, subresource="token")
        token: str = answer["status"]["token"]
        return token


def _conditions(definition: Object) -> str:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return ", ".join(
        str(condition.get("message"))
        for condition in conditions
        if condition.get("status") == "False"
    )
