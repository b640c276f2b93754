"""`auth why`: shows the rule that allows an action, or the rule that is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairlead.auth.authentication.user import MASTERS
from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.permissions.identity import Identity, identity
from fairlead.cli.permissions.policy import Policy, read_policy
from fairlead.cli.permissions.questions import Question, add_question_flags, question_of, review
from fairlead.cli.permissions.reasons import Grant, Reasons
from fairlead.cli.permissions.remedies import commands_to_add, commands_to_bind, rule_for
from fairlead.client import Client
from fairlead.client.access.model import NOBODY_ELSE

_MAX_ROLES = 3
_MAX_VALUES = 8
_PARTS = ("apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs")


def add_flags(parser: ArgumentReader) -> None:
    add_question_flags(parser)


async def run(invocation: Invocation) -> int:
    question = _where_it_counts(await question_of(invocation, warns_of_scope=False))
    status = await review(invocation.client, "SelfSubjectAccessReview", question.spec)
    allowed = bool(status.get("allowed"))
    who: Identity | None
    try:
        who = await identity(invocation.client)
    except CommandFailed:
        who = None
    lines = [_answer(allowed, who, question), *await _explained(invocation, question, who, allowed)]
    reason = status.get("reason") or status.get("evaluationError")
    if reason:
        lines += ["", f"The server says: {reason}"]
    invocation.screen.print(printable("\n".join(lines)))
    return 0 if allowed else 1


def _where_it_counts(question: Question) -> Question:
    """The question with the effective namespace of a cluster-scoped resource: none, except that a
    Namespace belongs to itself. Bindings of a namespace grant nothing outside of it."""
    if question.type is None or question.type.namespaced:
        return question
    inside = question.name if (question.group, question.resource) == ("", "namespaces") else ""
    return replace(question, namespace=inside)


def _answer(allowed: bool, who: Identity | None, question: Question) -> str:
    what = question.path or question.full_resource
    if question.group:
        what = f"{question.resource}.{question.group}" + what.removeprefix(question.resource)
    name = f" {question.name}" if question.name else ""
    is_inside = question.type is None or question.type.namespaced
    where = f" in namespace {question.namespace}" if question.namespace and is_inside else ""
    may = "may" if allowed else "may not"
    user = who.user if who is not None else "you"
    return f"{'yes' if allowed else 'no'}: {user} {may} {question.verb} {what}{name}{where}"


async def _explained(
    invocation: Invocation, question: Question, who: Identity | None, allowed: bool
) -> Sequence[str]:
    if who is None:
        return ["", "The server has no API to determine your user, so no rule can be shown."]
    if MASTERS in who.groups:
        return ["", f"Members of {MASTERS} may do everything, without any rule."]
    # Imported lazily: only this command needs the server's authorization rules.
    dialect = await invocation.client.discovery.dialect()
    policy = await _policy(invocation.client, question.namespace)
    reasons = Reasons(policy, dialect, who, question)
    grants = reasons.grants()
    lines = [*_grant_lines(grants), *_hidden_lines(policy)]
    if allowed and not grants and not policy.hidden:
        lines += ["", "No rule allows it: another authorizer than RBAC does."]
    elif grants and not allowed:
        lines += ["", "These rules allow it, yet another authorizer of the server refuses it."]
    elif not allowed:
        lines += _missing_lines(reasons, who.user, question)
    return lines


async def _policy(client: Client, namespace: str) -> Policy:
    """Read the roles and bindings as the real user, without impersonation."""
    dialect = await client.discovery.dialect()
    if not client.access.impersonation.user:
        return await read_policy(client, dialect, namespace)
    async with Client(client.access._replace(impersonation=NOBODY_ELSE)) as own:
        return await read_policy(own, dialect, namespace)


def _grant_lines(grants: Sequence[Grant]) -> Iterator[str]:
    for grant in grants:
        yield from ("", _binding_text(grant), f"  rule  {_rule_text(grant.rule)}")
        if grant.origin:
            yield f"  from  ClusterRole {grant.origin}, which is aggregated into it"


def _binding_text(grant: Grant) -> str:
    binding = grant.binding
    kind = "RoleBinding" if binding.namespace else "ClusterRoleBinding"
    return f"{kind} {binding.name} gives {binding.role_kind} {binding.role[1]} to {grant.subject}"


def _hidden_lines(policy: Policy) -> Iterator[str]:
    if policy.hidden:
        names = ", ".join(sorted(policy.hidden))
        yield from ("", f"You may not read {names}, so there may be more to it.")


def _missing_lines(reasons: Reasons, user: str, question: Question) -> Iterator[str]:
    near = reasons.near_misses()[:_MAX_ROLES]
    if near:
        yield from ("", "Close, but not enough:")
    for grant in near:
        yield f"  {_binding_text(grant)}"
        yield f"    rule  {_rule_text(grant.rule)}"
        yield f"    but   {grant.missing}"
    roles = reasons.roles_that_allow()[:_MAX_ROLES]
    if roles:
        yield from ("", "Roles that allow it once they are given:")
    for role in roles:
        kind = "Role" if role["metadata"].get("namespace") else "ClusterRole"
        yield f"  {kind} {role['metadata']['name']}"
        yield from (f"    {line}" for line in commands_to_bind(user, question, role))
    yield from ("", f"The rule that is missing: {_rule_text(rule_for(question))}")
    yield from (f"    {line}" for line in commands_to_add(user, question))


def _rule_text(rule: Mapping[str, Any]) -> str:
    """The rule as one line of YAML; lists are cut after 8 values."""
    parts = []
    for name in _PARTS:
        values = [text or '""' for text in rule.get(name) or ()]
        if values:
            more = len(values) - _MAX_VALUES
            listed = ", ".join(values[:_MAX_VALUES]) + (f", ... {more} more" if more > 0 else "")
            parts.append(f"{name}: [{listed}]")
    return f"{{{', '.join(parts)}}}"
