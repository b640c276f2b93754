"""What a caller says in the place of what stands in a configuration file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fairlead.client.access.files import Entry

Fields = Mapping[str, Any]

_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
# Fields that say the same thing: a new one ends the others.
_SAME = (
    ("certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"),
    ("client-certificate", "client-certificate-data"),
    ("client-key", "client-key-data"),
    ("token", "tokenFile"),
)
_PROOFS = ("token", "tokenFile", "username")


def overridden_cluster(cluster: Entry, fields: Fields) -> dict[str, Any]:
    """A server that the caller names is not taken for the one that a file has a name for."""
    value = _overridden(cluster.value, fields)
    if fields.get("server") and not fields.get("tls-server-name"):
        value.pop("tls-server-name", None)
    return value


def overridden_user(user: Entry, fields: Fields) -> dict[str, Any]:
    """Credentials that the caller gives are used instead of those that would have to be
    fetched."""
    value = _overridden(user.value, fields)
    if any(fields.get(name) for name in _PROOFS):
        value.pop("exec", None)
        value.pop("auth-provider", None)
    return value


def _overridden(value: Fields, fields: Fields) -> dict[str, Any]:
    given = {name: one for name, one in fields.items() if one}
    ended = {
        name for same in _SAME if any(one in given for one in same) for name in same
    } - given.keys()
    kept = {name: one for name, one in value.items() if name not in ended}
    # Relative paths of a caller start where it is, not where a file is.
    paths = {name: os.path.abspath(given[name]) for name in _PATHS if name in given}
    return {**kept, **given, **paths}
