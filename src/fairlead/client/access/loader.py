"""Determines the server and the user from configuration files, environment and arguments."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fairlead.base.files import stamp
from fairlead.base.terminal import printable
from fairlead.client.access import exec_config, exec_plugin, oidc
from fairlead.client.access.files import (
    Configuration,
    Entry,
    Sources,
    pod_environment,
    read_configuration,
    sources_of,
)
from fairlead.client.access.model import (
    NOBODY_ELSE,
    Access,
    AccessError,
    Credentials,
    Impersonation,
    InvalidConfiguration,
    Proof,
)
from fairlead.client.access.validation import check_types, cluster_problems, user_problems
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    check_pair,
    parse_cluster,
    parse_user,
    proxy_of_environment,
)

_SERVER = "KUBERNETES_MASTER"


class Choices(NamedTuple):
    """Overrides by the caller. `cluster_fields` and `user_fields` override fields of the file
    entries under the same names. `stdin_taken` says what reads standard input, so that no
    credential plugin does."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    cluster_fields: Mapping[str, Any] = MappingProxyType({})
    user_fields: Mapping[str, Any] = MappingProxyType({})
    timeout: float | None = None
    stdin_taken: str = ""


def load_access(
    path: Path | str | None = None,
    *,
    impersonation: Impersonation = NOBODY_ELSE,
    **choices: Any,
) -> Access:
    """Load the configuration: the named file, those of the environment, or the default one; without
    any, that of the pod. `choices` are fields of Choices. Raises AccessError."""
    sources = sources_of(path)
    if sources.explicit and not sources.files[0].exists():
        raise AccessError(f"stat {sources.files[0]}: no such file or directory")
    try:
        loading = _AccessLoader(sources, read_configuration(sources), Choices(**choices))
        return loading.access(impersonation)
    except ClientConfigError as error:
        raise AccessError(str(error)) from None


class _AccessLoader:
    def __init__(self, sources: Sources, files: Configuration, choices: Choices) -> None:
        self._sources = sources
        self._files = files
        self._choices = choices
        self._context_name = choices.context or files.current_context
        self._context = self._chosen_context()
        self._namespace: str = self._context.get("namespace") or ""
        cluster, user = self._chosen("clusters"), self._chosen("users")
        if not self._name("clusters") and not choices.cluster_fields.get("server"):
            cluster, user = self._without_files(user)
        self._cluster = _with_value(cluster, overridden_cluster(cluster, choices.cluster_fields))
        self._user = _with_value(user, overridden_user(user, choices.user_fields))

    def _chosen_context(self) -> Mapping[str, Any]:
        name = self._context_name
        entry = self._files.entries["contexts"].get(name)
        if entry is not None:
            check_types(entry.value, "context", name)
            return entry.value
        if self._choices.context:
            raise AccessError(f'context "{name}" does not exist')
        if name:
            raise InvalidConfiguration(f'there is no context "{name}"')
        return {}

    def _name(self, section: str) -> str:
        chosen = self._choices.cluster if section == "clusters" else self._choices.user
        return chosen or self._context.get(section[:-1]) or ""

    def _chosen(self, section: str) -> Entry:
        """The entry that the caller or the context names; empty if none is named."""
        name, what = self._name(section), section[:-1]
        entry = self._files.entries[section].get(name)
        if entry is not None:
            check_types(entry.value, what, name)
            return entry
        if self._choices.cluster if what == "cluster" else self._choices.user:
            kind = "cluster" if what == "cluster" else "auth info"
            raise AccessError(f'{kind} "{name}" does not exist')
        if name:
            raise InvalidConfiguration(
                f'the context "{self._context_name}" names the {what} "{name}", which is not there'
            )
        return Entry({}, self._sources.default)

    def _without_files(self, user: Entry) -> tuple[Entry, Entry]:
        """The cluster and user if no server is configured: from the pod or the environment; raises
        InvalidConfiguration."""
        around = pod_environment()
        if around is not None:
            self._namespace = around.namespace()
            return around.cluster(), user if self._name("users") else around.user()
        server = os.environ.get(_SERVER)
        if not server:
            raise InvalidConfiguration(self._nothing())
        return Entry({"server": server}, self._sources.default), user

    def _nothing(self) -> str:
        listed = ", ".join(str(file) for file in self._sources.files)
        if self._files.entries["contexts"]:
            return f"current-context is not set in {listed}: choose one of its contexts"
        known = any(file.exists() for file in self._sources.files)
        problem = f"no server is named in {listed}" if known else f"there is no file {listed}"
        return f"{problem}: name a file with --kubeconfig or KUBECONFIG, or set {_SERVER}"

    def access(self, impersonation: Impersonation) -> Access:
        """Validate and build the access; raises AccessError and ClientConfigError."""
        user = self._user.value
        self._check()
        config = _cluster_config(self._cluster, parse_user(user, self._user.directory))
        return Access(
            config,
            self._credentials(config),
            self._choices.namespace or self._namespace or "default",
            _impersonation(user, self._name("users"), impersonation),
            self._cluster.value.get("disable-compression") is not True,
            self._choices.timeout,
        )

    def _check(self) -> None:
        cluster, user = self._cluster, self._user
        if user.value.get("exec") is not None:
            exec_config.check_exec(user.value["exec"], self._name("users"))
        problems = [
            *user_problems(user.value, self._name("users"), user.directory),
            *cluster_problems(cluster.value, self._name("clusters"), cluster.directory),
        ]
        if problems:
            raise InvalidConfiguration(*problems)

    def _credentials(self, config: ClientConfig) -> Credentials:
        """Static credentials in the entry take precedence, so that they can override a plugin."""
        user, name = self._user.value, self._name("users")
        if config.token or config.token_file or config.username:
            return FixedCredentials(config)
        if user.get("exec") is not None:
            plugin = exec_config.parse_exec(user["exec"], self._user.directory)
            cluster = self._cluster.value
            return exec_plugin.exec_credentials(plugin, config, cluster, self._choices.stdin_taken)
        if user.get("auth-provider") is not None:
            return oidc.provider_credentials(name, self._user, config)
        return FixedCredentials(config, _pair_files(self._user))


def _pair_files(user: Entry) -> list[Path]:
    """The files of certificate and key, if both come from files."""
    names = ("client-certificate", "client-key")
    if any(user.value.get(f"{name}-data") or not user.value.get(name) for name in names):
        return []
    return [user.directory / user.value[name] for name in names]


def _with_value(entry: Entry, value: dict[str, Any]) -> Entry:
    return Entry(value, entry.origin)


def _cluster_config(cluster: Entry, proof: ClientConfig) -> ClientConfig:
    """The server's configuration; raises ClientConfigError."""
    fields = dict(cluster.value)
    fields["server"] = _url(fields, proof)
    config = parse_cluster(fields, cluster.directory, proof)
    if config.insecure and config.ca:
        raise ClientConfigError(
            "a certificate authority and insecure-skip-tls-verify exclude each other"
        )
    return config if config.proxy else config._replace(proxy=proxy_of_environment(config.server))


def _url(cluster: Mapping[str, Any], proof: ClientConfig) -> str:
    """The server URL with a scheme; raises ClientConfigError."""
    server: str = cluster["server"]
    if "://" not in server:
        secure = proof.certificate or any(
            cluster.get(field)
            for field in (
                "certificate-authority",
                "certificate-authority-data",
                "insecure-skip-tls-verify",
            )
        )
        server = f"{'https' if secure else 'http'}://{server}"
    try:
        parts = urlsplit(server)
        usable = bool(parts.hostname) and parts.port != 0 and server.isprintable()
    except ValueError:
        usable = False
    if not usable or " " in server:
        raise ClientConfigError(
            f'the server is neither a URL nor HOST:PORT: "{printable(cluster["server"])}"'
        )
    return server


def _impersonation(user: Mapping[str, Any], name: str, chosen: Impersonation) -> Impersonation:
    """The user to impersonate, from the user entry or the caller; raises AccessError."""
    groups, extra = user.get("as-groups") or (), user.get("as-user-extra") or {}
    if not isinstance(groups, list | tuple) or not isinstance(extra, dict):
        raise ClientConfigError(f'as-groups or as-user-extra of the user "{name}" is malformed')
    who = Impersonation(
        chosen.user or user.get("as") or "",
        tuple(chosen.groups or groups),
        chosen.uid or user.get("as-uid") or "",
        chosen.extra or {key: tuple(values) for key, values in extra.items()},
    )
    texts = [who.user, *who.groups, who.uid, *(text for all in who.extra.values() for text in all)]
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise AccessError("the user, group, uid or extra to act as is not a line of text")
    if texts != ["", ""] and not who.user:
        raise InvalidConfiguration(
            f"{name} acts with the uid, groups or extra of a user that is not named (as)"
        )
    return who


# Static credentials


class FixedCredentials:
    """A certificate, token, token file or password. `pair` are the files of certificate and key, if
    they come from files; they are read again when they change."""

    def __init__(self, config: ClientConfig, pair: Sequence[Path] = ()) -> None:
        self._config = config
        self._pair = pair
        self._stamps = [stamp(path) for path in pair]

    async def proof(self) -> Proof:
        self._renew()
        config = self._config
        try:
            return Proof(config.authorization(), config.certificate, config.key)
        except ClientConfigError as error:
            raise AccessError(str(error)) from None

    def refused(self, proof: Proof) -> bool:
        return False

    def _renew(self) -> None:
        """Reload certificate and key if their files have changed. Keeps the old pair while the
        files do not match, because they are being replaced."""
        stamps = [stamp(path) for path in self._pair]
        if stamps == self._stamps:
            return
        try:
            certificate, key = (path.read_bytes() for path in self._pair)
            check_pair(certificate, key)
        except (OSError, ClientConfigError):
            return
        self._config = self._config._replace(certificate=certificate, key=key)
        self._stamps = stamps


# Overrides by the caller

Fields = Mapping[str, Any]

_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
# Fields that exclude each other: an override removes the others.
_SAME = (
    ("certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"),
    ("client-certificate", "client-certificate-data"),
    ("client-key", "client-key-data"),
    ("token", "tokenFile"),
)
_PROOFS = ("token", "tokenFile", "username")


def overridden_cluster(cluster: Entry, fields: Fields) -> dict[str, Any]:
    """The cluster entry with overrides. An overridden server drops the file's tls-server-name."""
    value = _overridden(cluster.value, fields)
    if fields.get("server") and not fields.get("tls-server-name"):
        value.pop("tls-server-name", None)
    return value


def overridden_user(user: Entry, fields: Fields) -> dict[str, Any]:
    """The user entry with overrides. Overridden credentials replace plugins."""
    value = _overridden(user.value, fields)
    if any(fields.get(name) for name in _PROOFS):
        value.pop("exec", None)
        value.pop("auth-provider", None)
    return value


def _overridden(value: Fields, fields: Fields) -> dict[str, Any]:
    overrides = {name: item for name, item in fields.items() if item}
    ended = {
        name for same in _SAME if any(field in overrides for field in same) for name in same
    } - overrides.keys()
    rest = {name: item for name, item in value.items() if name not in ended}
    # Relative paths of the caller are relative to the current directory, not to the file.
    paths = {name: os.path.abspath(overrides[name]) for name in _PATHS if name in overrides}
    return {**rest, **overrides, **paths}
