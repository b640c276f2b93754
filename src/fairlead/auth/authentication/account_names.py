"""How service accounts are called as users."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, dns_subdomain

_PREFIX = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"


def account_user_name(namespace: str, name: str) -> str:
    return f"{_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    return (_GROUP, f"{_GROUP}:{namespace}")


def split_account_name(user_name: str) -> tuple[str, str] | None:
    """Namespace and name, or None for a user that is no service account."""
    if not user_name.startswith(_PREFIX):
        return None
    parts = user_name[len(_PREFIX) :].split(":")
    if len(parts) != 2 or dns_label(parts[0]) or dns_subdomain(parts[1]):
        return None
    return parts[0], parts[1]
