"""Finds, reads and merges client configuration files; the configuration of a process in a pod."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.client.access.model import AccessError
from fairlead.wire.outgoing.client_config import ClientConfigError, read_client_config

VARIABLE = "KUBECONFIG"
# The lists of a file, and the key of the content in their entries.
SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}
ROOT = Path("/var/run/secrets")


class Sources(NamedTuple):
    """The configuration files in order of precedence. An `explicit` file must exist."""

    files: tuple[Path, ...]
    explicit: bool = False

    @property
    def default(self) -> Path:
        """The file to write new entries to: the first that exists, else the last."""
        for file in self.files[:-1]:
            if file.exists():
                return file
        return self.files[-1]


def sources_of(path: Path | str | None = None) -> Sources:
    """The named file, those of the environment variable, or the default in the home directory;
    raises AccessError."""
    if path:
        return Sources((Path(path),), explicit=True)
    listed = os.environ.get(VARIABLE, "")
    if not listed:
        return Sources((Path(os.path.expanduser("~/.kube/config")),))
    files = dict.fromkeys(Path(name) for name in listed.split(os.pathsep) if name)
    if not files:
        raise AccessError(f"{VARIABLE} is {listed!r}, which does not name a file")
    return Sources(tuple(files))


class Entry(NamedTuple):
    """A cluster, user or context, and the file it comes from."""

    value: dict[str, Any]
    origin: Path

    @property
    def directory(self) -> Path:
        """The base of its relative paths."""
        return self.origin.absolute().parent


class Configuration:
    """All files merged. `entries` are by section and name."""

    def __init__(self) -> None:
        self.current_context = ""
        self.entries: dict[str, dict[str, Entry]] = {section: {} for section in SECTIONS}
        self.preferences: dict[str, Any] = {}
        self.extensions: list[Any] = []

    def add(self, value: Mapping[str, Any], origin: Path) -> None:
        """Merge a file; earlier files take precedence. Raises ClientConfigError."""
        check_kind(value)
        for section in SECTIONS:
            for name, entry in named_entries(value, section):
                self.entries[section].setdefault(name, Entry(entry, origin))
        self.current_context = self.current_context or _current(value)
        preferences = value.get("preferences") or {}
        if not isinstance(preferences, dict):
            raise ClientConfigError("preferences is not an object")
        self.preferences = {**preferences, **self.preferences}
        self.extensions = self.extensions or list(value.get("extensions") or ())


def _current(value: Mapping[str, Any]) -> str:
    name = value.get("current-context") or ""
    if not isinstance(name, str):
        raise ClientConfigError("current-context must be text")
    return name


def check_kind(value: Mapping[str, Any]) -> None:
    """Raises ClientConfigError for an object of another kind."""
    kind, version = value.get("kind") or "Config", value.get("apiVersion") or "v1"
    if (kind, version) != ("Config", "v1"):
        raise ClientConfigError(f'it is "{kind}" of "{version}", not Config of v1')


def named_entries(value: Mapping[str, Any], section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of a section of a file; raises ClientConfigError."""
    names = set()
    for name, entry in _listed(value.get(section) or (), section):
        if name in names:
            raise ClientConfigError(f'duplicate name "{name}" in {section}')
        names.add(name)
        yield name, entry


def _listed(listed: Any, section: str) -> Iterable[tuple[str, dict[str, Any]]]:
    if not isinstance(listed, list | tuple):
        raise ClientConfigError(f"{section} is not a list")
    for item in listed:
        name = item.get("name", "") if isinstance(item, dict) else None
        content = (item.get(SECTIONS[section]) or {}) if isinstance(item, dict) else None
        if not isinstance(name, str) or not isinstance(content, dict):
            what = SECTIONS[section]
            raise ClientConfigError(f"{section} has an entry that is not a name and a {what}")
        yield name, content


def read_configuration(sources: Sources) -> Configuration:
    """Read and merge the existing files; raises AccessError if one is invalid."""
    configuration, problems = Configuration(), []
    for file in sources.files:
        try:
            if file.exists():
                configuration.add(read_client_config(file), file)
        except (ClientConfigError, OSError) as error:
            message = str(error).removeprefix(f"{file} is not YAML: ")
            wrong = f"{file} is not a client configuration: "
            problems.append(wrong + message.removeprefix(wrong))
    if problems:
        raise AccessError("\n".join(problems))
    return configuration


class PodEnvironment(NamedTuple):
    """The server in a pod's environment, and the directory of its service account files."""

    server: str
    directory: Path

    def cluster(self) -> Entry:
        fields = {"server": self.server}
        if (self.directory / "ca.crt").exists():
            fields["certificate-authority"] = "ca.crt"
        return Entry(fields, self.directory / "token")

    def user(self) -> Entry:
        """A user with the token file, which is read again after rotation."""
        return Entry({"tokenFile": "token"}, self.directory / "token")

    def namespace(self) -> str:
        try:
            return (self.directory / "namespace").read_text().strip()
        except (OSError, UnicodeDecodeError):
            return ""


def pod_environment() -> PodEnvironment | None:
    """The environment of a pod in either dialect; None outside of a pod."""
    for dialect in (KUBERNETES, CLUSTER):
        service = f"{dialect.own_service.upper()}_SERVICE"
        host, port = os.environ.get(f"{service}_HOST"), os.environ.get(f"{service}_PORT")
        directory = ROOT / dialect.label("@") / "serviceaccount"
        if host and port and (directory / "token").is_file():
            shown_host = f"[{host}]" if ":" in host else host
            return PodEnvironment(f"https://{shown_host}:{port}", directory)
    return None
