"""The texts of `fairlead.service` and `fairlead.socket` for systemd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NAME = "fairlead"

# What a system service may not do. Those of the second group work without privileges, too.
# MemoryDenyWriteExecute= is not among them: pyOpenSSL makes the code of its callbacks at run time.
_SYSTEM_LIMITS = """
CapabilityBoundingSet=
PrivateDevices=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
"""
_LIMITS = """
LockPersonality=yes
NoNewPrivileges=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
UMask=0077
"""
# A dynamic user exists while the service runs, unless there is a user of this name.
_SYSTEM_USER = f"""
User={NAME}
DynamicUser=yes
"""
_START_SECONDS = 600  # a large store is read into memory first
_WATCHDOG_SECONDS = 30
_SPARE_SECONDS = 15  # for what follows the grace of a shutdown


class Service(NamedTuple):
    """What the units depend on. `state_directory` is a directory below /var/lib that systemd makes
    for a system service, `writable` one that exists; at most one of them is set."""

    command: Sequence[str]
    address: str  # where the socket listens
    is_system: bool
    state_directory: str
    writable: str
    stop_seconds: float


def service_unit(service: Service) -> str:
    lines = [
        "[Unit]",
        "Description=Fairlead, a Kubernetes-style cluster API server",
        f"Requires={NAME}.socket",
        f"After={NAME}.socket network-online.target",
        "Wants=network-online.target",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={' '.join(map(_quoted, service.command))}",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "Restart=on-failure",
        "RestartSec=1",
        f"TimeoutStartSec={_START_SECONDS}",
        f"TimeoutStopSec={round(service.stop_seconds + _SPARE_SECONDS)}",
        f"WatchdogSec={_WATCHDOG_SECONDS}",
        "KillMode=mixed",
        "LimitNOFILE=65536",
        *_directory(service),
        *(_SYSTEM_USER.split("\n")[1:-1] if service.is_system else ()),
        "",
        "# What it may not do.",
        *(_SYSTEM_LIMITS.split("\n")[1:-1] if service.is_system else ()),
        *_LIMITS.split("\n")[1:-1],
        "",
        "[Install]",
        f"WantedBy={'multi-user' if service.is_system else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _directory(service: Service) -> list[str]:
    if service.state_directory:
        return [f"StateDirectory={service.state_directory}", "StateDirectoryMode=0700"]
    if service.is_system and service.writable:
        return [f"ReadWritePaths={_quoted(service.writable)}"]
    return []


def socket_unit(service: Service) -> str:
    """The socket stays open while the service restarts: attempts to connect wait in it."""
    return "\n".join(
        [
            "[Unit]",
            "Description=The listening socket of Fairlead",
            "",
            "[Socket]",
            f"ListenStream={service.address}",
            "Backlog=4096",
            "NoDelay=yes",
            "",
            "[Install]",
            "WantedBy=sockets.target",
            "",
        ]
    )


def _quoted(word: str) -> str:
    """A word as systemd reads it back: without specifiers, variables and word splitting."""
    escaped = word.replace("\\", r"\\").replace('"', r"\"").replace("%", "%%").replace("$", "$$")
    is_plain = escaped and all(letter.isalnum() or letter in "/-_.,:=@%+" for letter in escaped)
    return escaped if is_plain else f'"{escaped}"'
