"""Suggests commands that would grant a permission."""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

from fairlead.auth.authentication.user import split_account_name
from fairlead.cli.permissions.questions import Question

_PROGRAM = "fairlead"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")


def rule_for(asked: Question) -> dict[str, list[str]]:
    """The narrowest rule that allows the action."""
    if asked.path:
        return {"nonResourceURLs": [asked.path], "verbs": [asked.verb]}
    rule = {"apiGroups": [asked.group], "resources": [asked.full_resource]}
    if asked.name:
        rule["resourceNames"] = [asked.name]
    return {**rule, "verbs": [asked.verb]}


def commands_to_bind(user: str, asked: Question, role: Mapping[str, Any]) -> list[str]:
    """Commands that bind an existing role to the user in the namespace of the question."""
    kind = "role" if role["metadata"].get("namespace") else "clusterrole"
    return [_binding(user, asked, kind, role["metadata"]["name"])]


def commands_to_add(user: str, asked: Question) -> list[str]:
    """Commands that create a role with only the missing rule, and bind it to the user."""
    kind = "role" if asked.namespace else "clusterrole"
    name = _name(_short(user), asked.verb, asked.path or asked.full_resource)
    words = [_PROGRAM, "create", kind, name, f"--verb={asked.verb}"]
    if asked.path:
        words.append(f"--non-resource-url={asked.path}")
    else:
        part = f"/{asked.subresource}" if asked.subresource else ""
        group = f".{asked.group}" if asked.group else ""
        words.append(f"--resource={asked.resource}{group}{part}")
        words += [f"--resource-name={asked.name}"] if asked.name else []
    return [_joined(words, asked.namespace), _binding(user, asked, kind, name)]


def _binding(user: str, asked: Question, kind: str, role: str) -> str:
    account = split_account_name(user)
    who = f"--serviceaccount={account[0]}:{account[1]}" if account else f"--user={user}"
    what = "rolebinding" if asked.namespace else "clusterrolebinding"
    own = _name(_short(user))
    name = role if role.startswith(f"{own}-") else _name(own, role)
    return _joined([_PROGRAM, "create", what, name, f"--{kind}={role}", who], asked.namespace)


def _short(user: str) -> str:
    account = split_account_name(user)
    return account[1] if account else user


def _name(*parts: str) -> str:
    words = (_NOT_IN_NAMES.sub("-", part.lower()).strip("-.") for part in parts)
    return "-".join(word for word in words if word) or "allowed"


def _joined(words: list[str], namespace: str) -> str:
    return " ".join(quote(word) for word in (*words, *(["-n", namespace] if namespace else [])))
