"""Runs credential plugins: programs that print an ExecCredential."""

from __future__ import annotations

import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import orjson

from fairlead.base.terminal import printable
from fairlead.client.access.exec_config import ALWAYS, NEVER, ExecConfig
from fairlead.client.access.model import AccessError, CredentialsError, Proof
from fairlead.client.access.renewal import Fetched, RenewedCredentials, shared
from fairlead.codec.types.times import TimeError, parse_time
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    bearer,
    check_pair,
    parse_document,
)

_KIND = "ExecCredential"
_NOT_INSTALLED = "The client configuration names a credential plugin that is not here."


def exec_credentials(
    config: ExecConfig, server: ClientConfig, cluster: Mapping[str, Any], stdin_taken: str = ""
) -> RenewedCredentials:
    """The credentials from a plugin for a server; `cluster` is the server's configuration entry.
    `stdin_taken` says what else reads standard input, if anything."""
    cluster_info = (
        _encoded_info(_cluster_info(config, server, cluster))
        if config.provide_cluster_info
        else b""
    )
    plugin = _Plugin(config, cluster_info, server, stdin_taken)
    key = (config, cluster_info, server.server, server.certificate, server.key, stdin_taken)
    return shared(key, lambda: RenewedCredentials(plugin.fetch))


def _encoded_info(info: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(info, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise AccessError(f"the cluster's extension for plugins is not JSON: {error}") from None


def _cluster_info(
    config: ExecConfig, server: ClientConfig, cluster: Mapping[str, Any]
) -> dict[str, Any]:
    info: dict[str, Any] = {
        "server": server.server,
        "tls-server-name": server.server_name,
        "insecure-skip-tls-verify": server.insecure,
        "certificate-authority-data": b64encode(server.ca).decode(),
        "proxy-url": server.proxy,
        "disable-compression": cluster.get("disable-compression") is True,
        "config": _extension(cluster, config.extension),
    }
    return {name: value for name, value in info.items() if value or name == "server"}


def _extension(cluster: Mapping[str, Any], name: str) -> Any:
    listed = cluster.get("extensions") or ()
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry.get("extension")
    return None


class _Plugin:
    def __init__(
        self, config: ExecConfig, cluster: bytes, server: ClientConfig, stdin_taken: str
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._server = server
        self._stdin_taken = stdin_taken

    def fetch(self) -> Fetched:
        """Run the plugin; raises CredentialsError."""
        try:
            return self._fetched(self._printed())
        except (_PluginError, ClientConfigError) as error:
            raise CredentialsError(f"getting credentials: {error}") from None

    def _is_interactive(self) -> bool:
        if self._config.interactive_mode == NEVER:
            return False
        terminal = _stdin_is_terminal()
        if self._config.interactive_mode == ALWAYS:
            why = "the credential plugin wants to ask something, and standard input is "
            if not terminal:
                raise _PluginError(f"{why}not a terminal")
            if self._stdin_taken:
                raise _PluginError(f"{why}unavailable: {self._stdin_taken}")
        return terminal and not self._stdin_taken

    def _printed(self) -> bytes:
        config = self._config
        interactive = self._is_interactive()
        path = shutil.which(config.command)
        if path is None:
            raise _PluginError(self._missing())
        try:
            process = subprocess.run(
                [config.command, *config.args],
                executable=path,
                env={
                    **os.environ,
                    **dict(config.env),
                    config.variable: self._exec_info(interactive),
                },
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                check=False,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            message = (why or str(error)).lower()
            raise _PluginError(f"exec: fork/exec {path}: {message}") from None
        if process.returncode:
            # -1 for a plugin killed by a signal.
            code = max(process.returncode, -1)
            raise _PluginError(
                f"the credential plugin {config.command} ended with exit code {code}"
            )
        return process.stdout

    def _missing(self) -> str:
        message = f"exec: executable {self._config.command} not found"
        hint = self._config.install_hint
        return f"{message}\n\n{_NOT_INSTALLED}\n\n{printable(hint)}" if hint else message

    def _exec_info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._cluster:
            spec["cluster"] = orjson.Fragment(self._cluster)
        request = {"kind": _KIND, "apiVersion": self._config.api_version, "spec": spec}
        return orjson.dumps(request).decode()

    def _fetched(self, printed: bytes) -> Fetched:
        status = _status(printed, self._config.api_version)
        token, certificate, key = (
            _text(status, name) for name in ("token", "clientCertificateData", "clientKeyData")
        )
        if not (token or certificate or key):
            raise _PluginError("the credential plugin gave neither a token nor a certificate")
        if bool(certificate) != bool(key):
            raise _PluginError(
                "the credential plugin gave a certificate without its key, or a key alone"
            )
        expires = _moment(_text(status, "expirationTimestamp"))
        server = self._server
        pair = (certificate.encode(), key.encode()) if key else (server.certificate, server.key)
        if key:
            _check_pair(*pair)
        return Fetched(Proof(bearer(token) if token else "", *pair), expires)


class _PluginError(Exception):
    """The plugin failed, or its output is unusable."""


def _status(printed: bytes, api_version: str) -> dict[str, Any]:
    """The status in the plugin's output; raises _PluginError."""
    value = _decoded(printed)
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    if not version or not kind:
        field = "kind" if not kind else "apiVersion"
        raise _PluginError(f"decoding stdout: Object '{field}' is missing in what was printed")
    if kind != _KIND:
        raise _PluginError(
            f"the output of the credential plugin is not an ExecCredential:"
            f' "{printable(str(kind))}" of'
            f' "{printable(str(version))}"'
        )
    if version != api_version:
        raise _PluginError(
            f"the credential plugin answered in {printable(str(version))}, the client configuration"
            f" says {api_version}"
        )
    status = value.get("status")
    if status is None:
        raise _PluginError("the credential plugin gave no status")
    if not isinstance(status, dict):
        raise _PluginError("decoding stdout: status is not an object")
    return status


def _decoded(printed: bytes) -> dict[str, Any]:
    try:
        value = parse_document(printed)
    except ValueError as error:
        message = f"the output of the credential plugin is not JSON: {printable(str(error))}"
        raise _PluginError(message) from None
    if not isinstance(value, dict):
        raise _PluginError("the output of the credential plugin is not a JSON object")
    return value


def _text(status: Mapping[str, Any], name: str) -> str:
    value = status.get(name)
    if not isinstance(value, str | None):
        raise _PluginError(f"decoding stdout: status.{name} must be text")
    return value or ""


def _moment(text: str) -> float | None:
    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except TimeError as error:
        raise _PluginError(f"decoding stdout: {printable(str(error))}") from None


def _check_pair(certificate: bytes, key: bytes) -> None:
    try:
        check_pair(certificate, key)
    except ClientConfigError as error:
        raise _PluginError(
            f"the credential plugin gave no usable certificate and key: {error}"
        ) from None


def _stdin_is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False
