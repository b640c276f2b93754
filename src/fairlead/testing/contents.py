"""Filling a server with the objects of files, or as they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairlead.cli.manifests import manifests, parsed
from fairlead.client.errors import AlreadyExists
from fairlead.client.sync import SyncClient
from fairlead.dialect import Dialect

Object = dict[str, Any]
# A file, a folder, YAML text (which has line breaks), an object, or several.
Source = str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]

MANAGER = "fairlead-testing"
_SECONDS_TO_SERVE = 30.0


def objects_of(source: Source) -> list[Object]:
    """Raises CommandFailed for what cannot be read."""
    if isinstance(source, Mapping):
        found = parsed_objects([source])
    elif isinstance(source, str) and "\n" in source:
        found = [one.value for one in parsed(source, "the text")]
    elif isinstance(source, str | Path):
        found = [one.value for one in manifests([str(source)], recursive=True)]
    else:
        found = parsed_objects(source)
    return found


def parsed_objects(given: Iterable[Mapping[str, Any]]) -> list[Object]:
    """Objects, those of lists among them one by one."""
    found: list[Object] = []
    for value in given:
        items = value.get("items")
        found += parsed_objects(items) if isinstance(items, list) else [dict(value)]
    return found


class Contents:
    """Writes as the admin."""

    def __init__(self, admin: SyncClient) -> None:
        self._admin = admin

    def apply(self, source: Source, namespace: str | None = None) -> list[Object]:
        """What they became, in their order. Definitions are served before anything else is
        applied."""
        return [self._applied(value, namespace) for value in objects_of(source)]

    def _applied(self, value: Object, namespace: str | None) -> Object:
        resource = self._admin.resource_of(value)
        space = namespace if not value["metadata"].get("namespace") else None
        made: Object = resource.apply(value, space, manager=MANAGER, force=True)
        if value["kind"] == "CustomResourceDefinition":
            self._await_served(made)
        return made

    def definitions(self, source: Source) -> list[Object]:
        found = [one for one in objects_of(source) if one["kind"] == "CustomResourceDefinition"]
        return [self._applied(value, None) for value in found]

    def _await_served(self, definition: Object) -> None:
        name = definition["metadata"]["name"]
        resource = self._admin.resource_of(definition)
        self._admin.wait_for_condition(resource, name, "Established", timeout=_SECONDS_TO_SERVE)
        self._admin.forget()

    def ensure_account(self, name: str, namespace: str, role: str, dialect: Dialect) -> None:
        """Have a service account, bound to a cluster role in its namespace if one is named."""
        accounts = self._admin.resource("serviceaccounts")
        self._ensure(accounts, {"metadata": {"name": name}}, namespace)
        if role:
            group = dialect.group_name("rbac.authorization.@")
            subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
            binding = {
                "metadata": {"name": f"{name}-{role}"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [subject],
            }
            self._ensure(self._admin.resource("rolebindings"), binding, namespace)

    @staticmethod
    def _ensure(resource: Any, value: Object, namespace: str) -> None:
        try:
            resource.create(value, namespace)
        except AlreadyExists:
            pass

    def account_token(self, name: str, namespace: str, dialect: Dialect) -> str:
        group = dialect.group_name("authentication.@")
        wanted = {"apiVersion": f"{group}/v1", "kind": "TokenRequest", "spec": {}}
        accounts = self._admin.resource("serviceaccounts")
        made = accounts.create(wanted, namespace, name=name, subresource="token")
        token: str = made["status"]["token"]
        return token
