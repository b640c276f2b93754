"""Client configuration files (kubeconfig): a server's address, its CA, and credentials.

A file has named clusters, users and contexts, and the name of the current context.
"""

import binascii
import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from fairlead.wire.outgoing.tls import load_pair, trust_by_openssl, unchecked

_MAX_DEPTH = 200
_DEPTH_CHANGES = {
    **dict.fromkeys(("SequenceStartEvent", "MappingStartEvent"), 1),
    **dict.fromkeys(("SequenceEndEvent", "MappingEndEvent"), -1),
}


class ClientConfigError(ValueError):
    """The client configuration is unusable; the text is the reason."""


def error_reason(error: OSError | ValueError, default: str) -> str:
    """Return the reason of an error with a file, without details of the library; `default` if
    the error has none."""
    if isinstance(error, ssl.SSLError):
        return error.reason.replace("_", " ").lower() if error.reason else default
    return error.strerror or str(error) if isinstance(error, OSError) else default


class ClientConfig(NamedTuple):
    """A server as a client sees it. Certificates and keys are PEM, already read."""

    server: str
    ca: bytes = b""
    insecure: bool = False
    server_name: str = ""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""
    token_file: Path | None = None
    username: str = ""
    password: str = ""
    proxy: str = ""

    def bearer_token(self) -> str:
        """Return the token; a token file is read each time, because it may be renewed."""
        if self.token_file is not None:
            try:
                return self.token_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                reason = error_reason(error, "it is not UTF-8 text")
                raise ClientConfigError(f"cannot read {self.token_file}: {reason}") from None
        return self.token

    def authorization(self) -> str:
        """Return the Authorization header, empty if there are no credentials for it."""
        token = self.bearer_token()
        if token:
            return bearer(token)
        if self.username:
            pair = f"{self.username}:{self.password}".encode()
            return f"Basic {binascii.b2a_base64(pair, newline=False).decode()}"
        return ""

    def load_certificate(self, context: ssl.SSLContext) -> None:
        """Load the client certificate, if any, into a context."""
        if self.certificate:
            load_pair(context, self.certificate, self.key)

    def ssl_context(
        self, trust: Callable[[bytes], ssl.SSLContext] = trust_by_openssl
    ) -> ssl.SSLContext | None:
        """Create the TLS context for the server; None for plain HTTP. `trust` creates a context
        that trusts a PEM bundle: `handshake.trusting` in a server."""
        if not self.server.startswith("https:"):
            return None
        try:
            context = unchecked() if self.insecure else trust(self.ca)
        except (ssl.SSLError, ValueError):
            raise ClientConfigError(
                f"{self.server}: the certificate authority holds no usable PEM certificate"
            ) from None
        try:
            self.load_certificate(context)
        except (ssl.SSLError, ValueError) as error:
            reason = error_reason(error, "they are no usable PEM")
            raise ClientConfigError(
                f"{self.server}: the client certificate and its key cannot be used: {reason}"
            ) from None
        return context


def check_pair(certificate: bytes, key: bytes) -> None:
    """Check that a certificate and a key belong together and are usable; raises
    ClientConfigError."""
    try:
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key)
    except (ssl.SSLError, ValueError) as error:
        raise ClientConfigError(str(getattr(error, "reason", None) or error)) from None


def bearer(token: str) -> str:
    """Return the header for a token; raises ClientConfigError for characters invalid in a
    header."""
    if not token.isascii() or not token.isprintable():
        raise ClientConfigError("the token has characters that a header must not have")
    return f"Bearer {token}"


def read_client_config(path: Path) -> dict[str, Any]:
    """Return the parsed file, empty if it has no content; raises ClientConfigError."""
    try:
        value = parse_document(path.read_bytes())
    except OSError as error:
        raise ClientConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ClientConfigError(f"{path} is not YAML: {error}") from None
    if not isinstance(value, dict):
        raise ClientConfigError(f"{path} is not a client configuration: it is no object")
    return value


def parse_document(content: bytes) -> Any:
    """Parse YAML or JSON; JSON without loading the YAML library, to start commands fast. Empty
    content is an empty object. Raises ValueError."""
    if content.lstrip()[:1] == b"{":
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(content)
    import yaml

    class Loader(yaml.CSafeLoader):
        """Keeps timestamps as strings."""

        yaml_implicit_resolvers = {
            first: [resolver for resolver in resolvers if not resolver[0].endswith(":timestamp")]
            for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
        }

    try:
        _check_depth(yaml.parse(content, Loader=Loader))
        value = yaml.load(content, Loader=Loader)
    except yaml.MarkedYAMLError as error:
        line = max(1, error.problem_mark.line) if error.problem_mark is not None else 1
        raise ValueError(f"yaml: line {line}: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"yaml: {' '.join(str(error).split())}") from None
    return {} if value is None else value


def _check_depth(events: Iterable[Any]) -> None:
    """Raise ValueError for nesting so deep that the library would crash the process."""
    depth = 0
    for event in events:
        depth += _DEPTH_CHANGES.get(type(event).__name__, 0)
        if depth > _MAX_DEPTH:
            raise ValueError(f"yaml: exceeded max depth of {_MAX_DEPTH}")


def load_client_config(path: Path) -> ClientConfig:
    """Return the current context of a client configuration file; raises ClientConfigError."""
    value = read_client_config(path)
    try:
        return parse_client_config(value, path.parent)
    except ClientConfigError as error:
        raise ClientConfigError(f"{path}: {error}") from None


def credentials(user: dict[str, Any], name: str, directory: Path) -> ClientConfig:
    """Return the credentials of a user entry, without a server; raises ClientConfigError for exec
    and auth-provider plugins."""
    for unsupported in ("exec", "auth-provider"):
        if user.get(unsupported):
            raise ClientConfigError(
                f"the user {name!r} needs {unsupported}, which is not supported here"
            )
    return parse_user(user, directory)


def parse_user(user: dict[str, Any], directory: Path) -> ClientConfig:
    """Return the credentials in a user entry itself."""
    token_file = text_of(user, "tokenFile")
    config = ClientConfig(
        server="https://",
        certificate=pem_of(user, "client-certificate", directory),
        key=pem_of(user, "client-key", directory),
        token=text_of(user, "token"),
        token_file=directory / token_file if token_file else None,
        username=text_of(user, "username"),
        password=text_of(user, "password"),
    )
    if bool(config.certificate) != bool(config.key):
        raise ClientConfigError("a client certificate and its key go together")
    return config


def parse_client_config(value: dict[str, Any], directory: Path) -> ClientConfig:
    """Return the current context of a parsed file; relative paths start at `directory`."""
    context = _entry_content(value, "contexts", "context", text_of(value, "current-context"))
    cluster = _entry_content(value, "clusters", "cluster", text_of(context, "cluster"))
    user_name = text_of(context, "user")
    user = _entry_content(value, "users", "user", user_name) if user_name else {}
    return parse_cluster(cluster, directory, credentials(user, user_name, directory))


def parse_cluster(
    cluster: dict[str, Any], directory: Path, credentials: ClientConfig
) -> ClientConfig:
    """Combine the server of a cluster entry with credentials."""
    server = text_of(cluster, "server")
    if not server.startswith(("https://", "http://")):
        raise ClientConfigError(f"the cluster's server {server!r} is not an http or https URL")
    return credentials._replace(
        server=server,
        ca=pem_of(cluster, "certificate-authority", directory),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=text_of(cluster, "tls-server-name"),
        proxy=text_of(cluster, "proxy-url"),
    )


def _entry_content(value: dict[str, Any], plural: str, singular: str, name: str) -> dict[str, Any]:
    """Return the entry of a list such as `clusters` by its name."""
    entries = value.get(plural) or []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("name", "") == name:
            content = entry.get(singular) or {}
            if isinstance(content, dict):
                return content
    raise ClientConfigError(f"there is no {singular} named {name!r}")


def text_of(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise ClientConfigError(f"{key} must be text")
    return text


def pem_of(value: dict[str, Any], key: str, directory: Path) -> bytes:
    """Return PEM from `<key>-data`, which takes precedence, or from the file named by `<key>`."""
    data = text_of(value, f"{key}-data")
    if data:
        try:
            return binascii.a2b_base64(data, strict_mode=True)
        except (binascii.Error, ValueError):
            raise ClientConfigError(f"{key}-data is not base64") from None
    name = text_of(value, key)
    if not name:
        return b""
    path = Path(os.path.expanduser(directory / name))
    try:
        return path.read_bytes()
    except OSError as error:
        raise ClientConfigError(f"cannot read {path}: {error.strerror}") from None


# Credentials by the host to call: the users of a client configuration file whose names are hosts.

_DEFAULT_PORT = "443"


class HostCredentials:
    """Credentials by `host`, `host:port`, `*.domain` or `*`, which matches all others. The port may
    be omitted if it is 443."""

    def __init__(self, users: Mapping[str, ClientConfig] | None = None) -> None:
        self._users = users or {}

    def of(self, host: str, port: int) -> ClientConfig | None:
        for name in _lookup_names(host, str(port)) if self._users else ():
            if name in self._users:
                return self._users[name]
        return None


def _lookup_names(host: str, port: str) -> Iterator[str]:
    """Yield the names under which credentials for a host are looked up, most specific first."""
    targets = [f"{host}:{port}"]
    if port == _DEFAULT_PORT:
        targets.append(host)
    for target in targets:
        yield target
        steps = target.split(".")
        for index in range(1, len(steps)):
            yield f"*.{'.'.join(steps[index:])}"
    yield "*"


def load_host_credentials(path: Path) -> HostCredentials:
    """Read the users of a file; raises ClientConfigError."""
    entries = read_client_config(path).get("users") or []
    users: dict[str, ClientConfig] = {}
    try:
        if not isinstance(entries, list):
            raise ClientConfigError("users is not a list")
        for entry in entries:
            name = entry.get("name") if isinstance(entry, dict) else None
            user = entry.get("user") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not isinstance(user, dict | None):
                raise ClientConfigError("users has an entry that is not a name and a user")
            users[name] = credentials(user or {}, name, path.parent)
    except ClientConfigError as error:
        raise ClientConfigError(f"{path}: {error}") from None
    return HostCredentials(users)


# The proxy configured in the environment.

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def proxy_of_environment(url: str) -> str:
    """Return the proxy for a URL, "" for none. This machine is never reached through a proxy."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in LOOPBACK or proxy_bypass(host):
        return ""
    return getproxies().get(parts.scheme, "")
