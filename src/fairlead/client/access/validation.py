"""Validates the chosen cluster and user; reports all problems at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairlead.client.access import exec_config
from fairlead.wire.outgoing.client_config import ClientConfigError

Fields = Mapping[str, Any]

_PROXY_SCHEMES = ("http", "https")
_TEXTS = {
    "cluster": ("server", "tls-server-name", "proxy-url"),
    "user": ("token", "tokenFile", "username", "password", "as", "as-uid"),
    "context": ("cluster", "user", "namespace"),
}
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key"),
    "context": (),
}


def check_types(fields: Fields, what: str, name: str) -> None:
    """Raises ClientConfigError for a value of the wrong type."""
    texts = (
        *_TEXTS[what],
        *(field for file in _FILES[what] for field in (file, f"{file}-data")),
    )
    for field in texts:
        if not isinstance(fields.get(field), str | None):
            raise ClientConfigError(f'{field} of the {what} "{name}" must be text')


def cluster_problems(cluster: Fields, name: str, directory: Path) -> Iterator[str]:
    if not cluster.get("server"):
        yield (f'the cluster "{name}" has no server' if name else ("no server is named"))
    proxy = cluster.get("proxy-url")
    if proxy:
        scheme = _scheme(proxy)
        if scheme not in _PROXY_SCHEMES:
            yield (
                f'the proxy-url "{proxy}" of cluster "{name}" begins with "{scheme}", not with http'
                " or https"
            )
    yield from _unreadable(cluster, "certificate-authority", name, directory)


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError:
        return ""


def user_problems(user: Fields, name: str, directory: Path) -> Iterator[str]:
    if _has(user, "client-certificate"):
        if not _has(user, "client-key"):
            yield (f"{name} has a client certificate without its key (client-key, client-key-data)")
        yield from _unreadable(user, "client-certificate", name, directory, "client-cert")
        yield from _unreadable(user, "client-key", name, directory)
    if user.get("exec") is not None:
        yield from _exec_problems(user["exec"], name)
        if user.get("auth-provider") is not None:
            yield f"{name} has an auth-provider and a credential plugin (exec): one must go"
    methods = [
        method
        for method, fields in (("token", ("token",)), ("basicAuth", ("username", "password")))
        if any(user.get(field) for field in fields)
    ]
    if len(methods) > 1:
        yield (f"{name} has several ways to sign in: {', '.join(methods)}; all but one must go")
    if not user.get("as") and any(
        user.get(field) for field in ("as-uid", "as-groups", "as-user-extra")
    ):
        yield f"{name} acts with the uid, groups or extra of a user that is not named (as)"


def _exec_problems(plugin: Fields, name: str) -> Iterator[str]:
    needed = f"is missing in the credential plugin (exec) of {name}"
    for field in ("command", "apiVersion"):
        if not plugin.get(field):
            yield f"{field} {needed}"
    for variable in plugin.get("env") or ():
        if not variable.get("name"):
            yield f"env variable name {needed}"
    mode = plugin.get("interactiveMode") or exec_config.default_mode(plugin.get("apiVersion") or "")
    if not mode:
        yield f"interactiveMode {needed}"
    elif mode not in exec_config.MODES:
        yield f'invalid interactiveMode for {name}: "{mode}"'


def _has(fields: Fields, file: str) -> bool:
    return bool(fields.get(file) or fields.get(f"{file}-data"))


def _unreadable(
    fields: Fields, file: str, name: str, directory: Path, label: str = ""
) -> Iterator[str]:
    """The problem with a file that cannot be opened, unless its data is inline."""
    if not fields.get(file) or fields.get(f"{file}-data"):
        return
    path = directory / fields[file]
    try:
        with path.open("rb"):
            return
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        yield f"unable to read {label or file} {path} for {name} due to open {path}: {why}"
