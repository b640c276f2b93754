"""The `exec` entry of a user: the configuration of a credential plugin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.wire.outgoing.client_config import ClientConfigError

NEVER, IF_AVAILABLE, ALWAYS = MODES = ("Never", "IfAvailable", "Always")

_GROUP = "client.authentication.@"
_MODE_UNLESS_GIVEN = {"v1": "", "v1beta1": IF_AVAILABLE}
_VERSIONS: dict[str, Dialect] = {
    f"{dialect.group_name(_GROUP)}/{version}": dialect
    for dialect in (KUBERNETES, CLUSTER)
    for version in _MODE_UNLESS_GIVEN
}


@dataclass(frozen=True, slots=True)
class ExecConfig:
    """A credential plugin. `api_version` is one that `parse_exec` accepts."""

    command: str
    api_version: str
    interactive_mode: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that passes the ExecCredential request to the plugin."""
        return f"{_VERSIONS[self.api_version].name.upper()}_EXEC_INFO"

    @property
    def extension(self) -> str:
        """The name of the cluster extension that is passed to plugins."""
        return _VERSIONS[self.api_version].group_name(_GROUP) + "/exec"


def default_mode(api_version: str) -> str:
    """The interactive mode if none is given; empty if it is required."""
    is_known = api_version in _VERSIONS
    return _MODE_UNLESS_GIVEN[api_version.rpartition("/")[2]] if is_known else ""


def check_exec(value: Any, user: str) -> None:
    """Raises ClientConfigError for a value of the wrong type."""
    where = f'exec of the user "{user}"'
    if not isinstance(value, dict):
        raise ClientConfigError(f"{where} is not an object")
    for field in ("command", "apiVersion", "interactiveMode", "installHint"):
        if not isinstance(value.get(field), str | None):
            raise ClientConfigError(f"{where}: {field} must be text")
    if not isinstance(value.get("provideClusterInfo"), bool | None):
        raise ClientConfigError(f"{where}: provideClusterInfo must be true or false")
    args = value.get("args") or []
    if not isinstance(args, list) or not all(isinstance(argument, str) for argument in args):
        raise ClientConfigError(f"{where}: args must be a list of texts")
    env = value.get("env") or []
    if not isinstance(env, list) or not all(_is_variable(variable) for variable in env):
        raise ClientConfigError(f"{where}: env must be a list of names and values")


def _is_variable(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(field), str | None) and "\0" not in (value.get(field) or "")
        for field in ("name", "value")
    )


def parse_exec(value: Mapping[str, Any], directory: Path) -> ExecConfig:
    """Parse a checked entry. A command with a slash is relative to `directory`. Raises
    ClientConfigError for an unknown version."""
    version = value["apiVersion"]
    if version not in _VERSIONS:
        raise ClientConfigError(f'exec plugin: invalid apiVersion "{version}"')
    command = value["command"]
    return ExecConfig(
        str(directory / command) if "/" in command else command,
        version,
        value.get("interactiveMode") or default_mode(version),
        tuple(value.get("args") or ()),
        tuple(
            (variable["name"], variable.get("value") or "") for variable in value.get("env") or ()
        ),
        value.get("installHint") or "",
        bool(value.get("provideClusterInfo")),
    )
