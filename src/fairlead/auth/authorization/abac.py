"""ABAC: policies from a file, one JSON object per line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from fairlead.auth.authentication.user import AUTHENTICATED, User
from fairlead.auth.authorization.attributes import ALLOWED, Attributes, Decision, UserRules
from fairlead.auth.authorization.chain import ImmediateMode
from fairlead.base.dialect import Dialect

ALL = "*"
_READING = ("get", "list", "watch")
_NO_POLICY = Decision(reason="No policy matched.")
_FIELDS = {
    "user": "",
    "group": "",
    "namespace": "",
    "resource": "",
    "apiGroup": "",
    "nonResourcePath": "",
    "readonly": False,
}


class PolicyFileError(ValueError):
    """An unusable policy file; the text names the line."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One line of the file. If user and group are both empty, it matches no user."""

    user: str = ""
    group: str = ""
    namespace: str = ""
    resource: str = ""
    api_group: str = ""
    path: str = ""
    readonly: bool = False

    def is_for(self, user: User) -> bool:
        """Whether the policy's user and group, where set, match."""
        if not self.user and not self.group:
            return False
        if self.user and self.user != user.name:
            return False
        return not self.group or self.group in user.groups

    def allows(self, attributes: Attributes) -> bool:
        if not self.is_for(attributes.user):
            return False
        if self.readonly and attributes.verb not in _READING:
            return False
        if not attributes.is_resource:
            return self._allows_path(attributes.path)
        return (
            self.namespace in (ALL, attributes.namespace)
            and self.resource in (ALL, attributes.resource)
            and self.api_group in (ALL, attributes.group)
        )

    def _allows_path(self, path: str) -> bool:
        if self.path.endswith(ALL):
            return path.startswith(self.path.rstrip(ALL))
        return self.path == path

    @property
    def verbs(self) -> list[str]:
        return list(_READING) if self.readonly else [ALL]


class Abac(ImmediateMode):
    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = tuple(policies)

    def decide(self, attributes: Attributes) -> Decision:
        if any(policy.allows(attributes) for policy in self._policies):
            return ALLOWED
        return _NO_POLICY

    def rules_for(self, user: User, namespace: str) -> UserRules:
        rules = UserRules()
        for policy in self._policies:
            if not policy.is_for(user) or policy.namespace not in (ALL, namespace):
                continue
            if policy.resource:
                rules.resource_rules.append(
                    {
                        "verbs": policy.verbs,
                        "apiGroups": [policy.api_group],
                        "resources": [policy.resource],
                    }
                )
            if policy.path:
                rules.path_rules.append({"verbs": policy.verbs, "nonResourceURLs": [policy.path]})
        return rules


def read_policy_file(path: Path, dialect: Dialect) -> list[Policy]:
    """Read the policies of a file, skipping empty lines and lines that start with `#`."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"cannot read the policy file {path}: {error}") from None
    version = f"{dialect.label('abac.authorization.@')}/v1beta1"
    policies = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                policies.append(_policy(line, version))
            except PolicyFileError as error:
                raise PolicyFileError(f"{path}, line {number}: {error}") from None
    return policies


def _policy(line: str, version: str) -> Policy:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise PolicyFileError(f"not JSON: {error}") from None
    if not isinstance(value, dict) or value.get("kind") != "Policy":
        raise PolicyFileError("not an object of kind Policy")
    if value.get("apiVersion") != version:
        raise PolicyFileError(f"the apiVersion is not {version}")
    spec = value.get("spec")
    if not isinstance(spec, dict):
        raise PolicyFileError("there is no spec")
    return _from_spec(spec)


def _from_spec(spec: dict[str, Any]) -> Policy:
    read = {}
    for name, unset in _FIELDS.items():
        read[name] = spec.get(name, unset)
        if type(read[name]) is not type(unset):
            raise PolicyFileError(f"spec.{name} must be a {type(unset).__name__}")
    unknown = sorted(set(spec) - set(_FIELDS))
    if unknown:
        raise PolicyFileError(f"spec has no field {unknown[0]!r}")
    if ALL in (read["user"], read["group"]):
        read["user"], read["group"] = "", AUTHENTICATED  # all authenticated users
    return Policy(
        read["user"],
        read["group"],
        read["namespace"],
        read["resource"],
        read["apiGroup"],
        read["nonResourcePath"],
        read["readonly"],
    )
