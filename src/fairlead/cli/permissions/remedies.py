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


def rule_for(question: Question) -> dict[str, list[str]]:
    """The narrowest rule that allows the action."""
    if question.path:
        return {"nonResourceURLs": [question.path], "verbs": [question.verb]}
    rule = {"apiGroups": [question.group], "resources": [question.full_resource]}
    if question.name:
        rule["resourceNames"] = [question.name]
    return {**rule, "verbs": [question.verb]}


def commands_to_bind(user: str, question: Question, role: Mapping[str, Any]) -> list[str]:
    """Commands that bind an existing role to the user in the namespace of the question."""
    kind = "role" if role["metadata"].get("namespace") else "clusterrole"
    return [_binding(user, question, kind, role["metadata"]["name"])]


def commands_to_add(user: str, question: Question) -> list[str]:
    """Commands that create a role with only the missing rule, and bind it to the user."""
    kind = "role" if question.namespace else "clusterrole"
    name = _name(_short(user), question.verb, question.path or question.full_resource)
    words = [_PROGRAM, "create", kind, name, f"--verb={question.verb}"]
    if question.path:
        words.append(f"--non-resource-url={question.path}")
    else:
        part = f"/{question.subresource}" if question.subresource else ""
        group = f".{question.group}" if question.group else ""
        words.append(f"--resource={question.resource}{group}{part}")
        words += [f"--resource-name={question.name}"] if question.name else []
    return [_joined(words, question.namespace), _binding(user, question, kind, name)]


def _binding(user: str, question: Question, kind: str, role: str) -> str:
    account = split_account_name(user)
    who = f"--serviceaccount={account[0]}:{account[1]}" if account else f"--user={user}"
    what = "rolebinding" if question.namespace else "clusterrolebinding"
    own = _name(_short(user))
    name = role if role.startswith(f"{own}-") else _name(own, role)
    return _joined([_PROGRAM, "create", what, name, f"--{kind}={role}", who], question.namespace)


def _short(user: str) -> str:
    account = split_account_name(user)
    return account[1] if account else user


def _name(*parts: str) -> str:
    words = (_NOT_IN_NAMES.sub("-", part.lower()).strip("-.") for part in parts)
    return "-".join(word for word in words if word) or "allowed"


def _joined(words: list[str], namespace: str) -> str:
    return " ".join(quote(word) for word in (*words, *(["-n", namespace] if namespace else [])))
