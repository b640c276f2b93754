"""Requirements of the built-in signers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairlead.auth.authorization.node import NODE_PREFIX, NODES_GROUP
from fairlead.base.dialect import Dialect
from fairlead.controllers.certificates.request_content import RequestContent

CLIENT_AUTH, SERVER_AUTH = "client auth", "server auth"
SIGNATURE, ENCIPHERMENT = "digital signature", "key encipherment"

# Returns why a signer refuses a request with these usages; empty if it does not.
Rule = Callable[[RequestContent, Sequence[str]], str]

_ORGANIZATION = f"subject organization is not {NODES_GROUP}"
_COMMON_NAME = f"subject common name does not begin with {NODE_PREFIX}"


def rules_of(dialect: Dialect) -> Mapping[str, Rule]:
    """The rules by signer name."""
    exact = dialect.node_usages_exact

    def node_client(content: RequestContent, usages: Sequence[str]) -> str:
        return _node_client(content) or _usages_problem(usages, CLIENT_AUTH, exact)

    def node_serving(content: RequestContent, usages: Sequence[str]) -> str:
        problem = _node_serving(content) or _usages_problem(usages, SERVER_AUTH, exact)
        return problem or ("" if content.common_name.startswith(NODE_PREFIX) else _COMMON_NAME)

    return {
        dialect.signer_client: _client,
        dialect.signer_client_node: node_client,
        dialect.signer_node_serving: node_serving,
        dialect.signer_legacy: _anything,
    }


def _anything(content: RequestContent, usages: Sequence[str]) -> str:
    return ""


def _client(content: RequestContent, usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in (SIGNATURE, ENCIPHERMENT, CLIENT_AUTH):
            return f"invalid usage for client certificate: {usage}"
    if CLIENT_AUTH not in usages:
        return f"missing required usage for client certificate: {CLIENT_AUTH}"
    return ""


def _node_client(content: RequestContent) -> str:
    if content.organizations != (NODES_GROUP,):
        return _ORGANIZATION
    named = (
        ("DNS", content.dns),
        ("Email", content.emails),
        ("IP", content.addresses),
        ("URI", content.uris),
    )
    for kind, names in named:
        if names:
            return f"{kind} subjectAltNames are not allowed"
    return "" if content.common_name.startswith(NODE_PREFIX) else _COMMON_NAME


def _node_serving(content: RequestContent) -> str:
    if content.organizations != (NODES_GROUP,):
        return _ORGANIZATION
    if not content.dns and not content.addresses:
        return "DNS or IP subjectAltName is required"
    for kind, names in (("Email", content.emails), ("URI", content.uris)):
        if names:
            return f"{kind} subjectAltNames are not allowed"
    return ""


def _usages_problem(usages: Sequence[str], purpose: str, exact: bool) -> str:
    """Key encipherment is optional unless `exact`: signature-only keys cannot use it, although the
    specification requires it."""
    allowed = {SIGNATURE, ENCIPHERMENT, purpose}
    requested = set(usages)
    if requested == allowed or (not exact and requested == allowed - {ENCIPHERMENT}):
        return ""
    return f"usages did not match [{' '.join(sorted(allowed))}]"
