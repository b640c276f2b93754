"""Rules that depend on the operating system of a pod."""

from __future__ import annotations

import re

from fairlead.base.release import Reworded
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods.container_lists import CONTAINER_LISTS, containers_with_paths

SYSTEMS = ("linux", "windows")
NOT_ON_WINDOWS = "cannot be set for a windows pod"
NOT_ON_LINUX = "windows options cannot be set for a linux pod"

_MAX_CREDENTIAL_KIB = 64
_MAX_DOMAIN_LENGTH, _MAX_USER_LENGTH = 256, 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS = re.compile(r"""\A[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}\Z""", re.DOTALL)
_DNS_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_NAME = re.compile(rf"\A{_DNS_PART}(?:\.{_DNS_PART})*\Z", re.ASCII)
_NOT_IN_USERS = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")
_DOTS_OR_SPACES = re.compile(r"\A[. ]+\Z")


def uses_windows_options(spec: Object) -> bool:
    """Whether a pod or one of its containers has Windows options."""
    if _has_windows_options(spec):
        return True
    for name in CONTAINER_LISTS:
        containers: list[Object] | None = spec.get(name)
        for container in containers or ():
            if _has_windows_options(container):
                return True
    return False


def _has_windows_options(holder: Object) -> bool:
    context: Object | None = holder.get("securityContext")
    return context is not None and "windowsOptions" in context


def check_windows_options(options: Object | None, path: str, causes: Causes) -> None:
    if options is None:
        return
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        causes.invalid_each(f"{path}.gmsaCredentialSpecName", name, dns_subdomain(name))
    credential = options.get("gmsaCredentialSpec")
    if credential is not None:
        field = f"{path}.gmsaCredentialSpec"
        if not credential:
            causes.invalid(field, credential, "gmsaCredentialSpec cannot be an empty string")
        elif len(credential.encode()) > _MAX_CREDENTIAL_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_MAX_CREDENTIAL_KIB} KiB"
            causes.invalid(field, credential, detail)
    user = options.get("runAsUserName")
    if user is not None:
        causes.invalid_each(f"{path}.runAsUserName", user, _user_errors(user))


def _user_errors(text: str) -> list[str]:
    """The errors of a user name, `user` or `domain\\user`."""
    if not text:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(text):
        return ["runAsUserName cannot contain control characters"]
    domain, *rest = text.split("\\")
    if len(rest) > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    if not rest:
        return _plain_user_errors(domain)
    errors = []
    if len(domain) >= _MAX_DOMAIN_LENGTH:
        errors.append(
            f"runAsUserName's Domain length must be under {_MAX_DOMAIN_LENGTH} characters"
        )
    if not _NET_BIOS.match(domain) and not _DNS_NAME.match(domain):
        errors.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    return errors + _plain_user_errors(rest[0])


def _plain_user_errors(user: str) -> list[str]:
    errors = []
    if not user:
        errors.append("runAsUserName's User cannot be empty")
    elif len(user) > _MAX_USER_LENGTH:
        detail = (
            f"runAsUserName's User length must not be longer than {_MAX_USER_LENGTH} characters"
        )
        errors.append(detail)
    if _DOTS_OR_SPACES.match(user):
        errors.append("runAsUserName's User cannot contain only periods or spaces")
    if _NOT_IN_USERS.search(user):
        detail = "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
        errors.append(detail)
    return errors


def _host_process(holder: Object) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    host_process: bool | None = options.get("hostProcess")
    return host_process


def check_host_process(spec: Object, path: str, causes: Causes) -> None:
    """Host process containers: all or none of the containers, and only on the host's network."""
    of_pod = _host_process(spec)
    total = on_host = 0
    for container, container_path in containers_with_paths(spec, path):
        total += 1
        host_process = _host_process(container)
        if of_pod is not None and host_process is not None and of_pod != host_process:
            shown = "true" if of_pod else "false"
            causes.invalid(
                f"{container_path}.securityContext.windowsOptions.hostProcess",
                host_process,
                f"pod hostProcess value must be identical if both are specified, was {shown}",
            )
        if host_process if host_process is not None else of_pod:
            on_host += 1
    if not on_host:
        return
    if on_host != total:
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess"
            " containers"
        )
        causes.invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        causes.invalid(f"{path}.hostNetwork", False, detail)


def check_system(spec: Object, path: str, causes: Causes) -> None:
    """Check that a pod sets no fields of another operating system."""
    name = spec["os"]["name"]
    if not name:
        causes.required(f"{path}.os.name", Reworded("cannot be empty", ""))
    elif name not in SYSTEMS:
        causes.unsupported(f"{path}.os", name, SYSTEMS)
    elif name == "linux":
        _check_linux(spec, path, causes)
    else:
        _check_windows(spec, path, causes)


def _check_linux(spec: Object, path: str, causes: Causes) -> None:
    for holder, holder_path in [(spec, path), *containers_with_paths(spec, path)]:
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None:
            causes.forbidden(f"{holder_path}.securityContext.windowsOptions", NOT_ON_LINUX)


# Fields of another system, in the reference's order.
_FOREIGN_IN_PODS = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_FOREIGN_IN_CONTAINERS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def _check_windows(spec: Object, path: str, causes: Causes) -> None:
    context = spec.get("securityContext") or {}
    for name in _FOREIGN_IN_PODS:
        inner = name.removeprefix("securityContext.")
        if (spec if inner == name else context).get(inner) is not None:
            causes.forbidden(f"{path}.{name}", NOT_ON_WINDOWS)
    for container, container_path in containers_with_paths(spec, path):
        inner_context = container.get("securityContext") or {}
        for name in _FOREIGN_IN_CONTAINERS:
            if inner_context.get(name) is not None:
                causes.forbidden(f"{container_path}.securityContext.{name}", NOT_ON_WINDOWS)
