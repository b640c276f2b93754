"""The schema of a client configuration, and property paths into it such as `users.alice.token`."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any, NamedTuple

from fairlead.cli.arguments import parse_bool
from fairlead.cli.errors import CommandFailed

TEXT, TRUTH, BYTES, TEXTS, FREE = "text", "truth", "bytes", "texts", "free"
Kinds = dict[str, Any]

# Fields in the order of JSON output. A nested dict is an object with its own fields.
CLUSTER: Kinds = {
    "server": TEXT,
    "tls-server-name": TEXT,
    "insecure-skip-tls-verify": TRUTH,
    "certificate-authority": TEXT,
    "certificate-authority-data": BYTES,
    "proxy-url": TEXT,
    "disable-compression": TRUTH,
    "extensions": FREE,
}
_PROVIDER: Kinds = {"name": TEXT, "config": {"*": TEXT}}
_EXEC: Kinds = {
    "command": TEXT,
    "args": TEXTS,
    "env": FREE,
    "apiVersion": TEXT,
    "installHint": TEXT,
    "provideClusterInfo": TRUTH,
    "interactiveMode": TEXT,
}
USER: Kinds = {
    "client-certificate": TEXT,
    "client-certificate-data": BYTES,
    "client-key": TEXT,
    "client-key-data": BYTES,
    "token": TEXT,
    "tokenFile": TEXT,
    "as": TEXT,
    "as-uid": TEXT,
    "as-groups": TEXTS,
    "as-user-extra": {"*": TEXTS},
    "username": TEXT,
    "password": TEXT,
    "auth-provider": _PROVIDER,
    "exec": _EXEC,
    "extensions": FREE,
}
CONTEXT: Kinds = {"cluster": TEXT, "user": TEXT, "namespace": TEXT, "extensions": FREE}
_PREFERENCES: Kinds = {"colors": TRUTH, "extensions": FREE}
ENTRIES = {"clusters": CLUSTER, "users": USER, "contexts": CONTEXT}
_TYPE_NAMES = {"clusters": "api.Cluster", "users": "api.AuthInfo", "contexts": "api.Context"}


class Property(NamedTuple):
    """A place in the configuration: section and entry name (both empty for the file itself), the
    path of fields below, and the kind of its value (a dict for an object, section or entry)."""

    section: str
    name: str
    fields: tuple[str, ...]
    kind: Any


def property_of(text: str) -> Property:
    """Parse a property path such as `users.alice.token`; entry names may contain dots. Raises
    CommandFailed."""
    section, *rest = text.split(".")
    if section == "current-context" and not rest:
        return Property("", "", (section,), TEXT)
    if section == "preferences":
        return Property(
            "", "", (section, *rest), _kind(_PREFERENCES, rest, text, "api.Preferences")
        )
    if section not in ENTRIES:
        raise CommandFailed(f"error: unable to parse {text} after [] at api.Config")
    kinds = ENTRIES[section]
    split = next((index for index in range(1, len(rest)) if rest[index] in kinds), len(rest))
    name, fields = ".".join(rest[:split]), rest[split:]
    return Property(section, name, tuple(fields), _kind(kinds, fields, text, _TYPE_NAMES[section]))


def _kind(kinds: Kinds, fields: list[str], text: str, type_name: str) -> Any:
    kind: Any = kinds
    for index, field in enumerate(fields):
        below = kind.get(field, kind.get("*")) if isinstance(kind, dict) else None
        if below is None:
            before = text.split(".")[: -(len(fields) - index)]
            raise CommandFailed(
                f"error: {'.'.join(fields[index:])} is not a field of"
                f" {'.'.join(before) or 'the beginning'} ({type_name})"
            )
        kind = below
    return kind


def value_of(path: Property, text: str, raw: bool) -> Any:
    """Convert the text to the kind of the property; raises CommandFailed. Bytes are given in base64
    unless `raw`."""
    if path.kind == TRUTH:
        flag = parse_bool(text)
        if flag is None:
            raise CommandFailed(f'error: strconv.ParseBool: parsing "{text}": invalid syntax')
        return flag
    if path.kind == BYTES:
        return _bytes(text, raw)
    if path.kind == TEXTS:
        return [part for part in text.split(",") if part]
    if path.kind == TEXT:
        return text
    raise CommandFailed("error: it has fields of its own: set one of those")


def _bytes(text: str, raw: bool) -> str:
    if raw:
        return b64encode(text.encode()).decode()
    try:
        b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise CommandFailed(f"error: error decoding input value: {error}") from None
    return text
