"""The command install-service: writes a service and a socket unit for systemd."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fairlead.cli.parser import Parser, complain
from fairlead.cli.service_units import NAME, Service, service_unit, socket_unit
from fairlead.process.flags.checks import FlagError, check_flags
from fairlead.process.flags.serve import add_serve_flags

_SYSTEM_UNITS = Path("/etc/systemd/system")
_SYSTEM_STATE = Path("/var/lib")
# Where ProtectHome= hides everything from a system service.
_HIDDEN = (Path("/home"), Path("/root"), Path("/run/user"))


class _InstallError(Exception):
    """The service cannot be installed; the text is for the user."""


def add_flags(command: str, parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write fairlead.service and fairlead.socket, and print what starts them. What follows --"
        " are flags of serve. systemd owns the socket, so that attempts to connect wait while the"
        " server restarts."
    )
    flag = parser.add_argument
    flag("--user", action="store_true", help="for this user's service manager, without root")
    flag("--dry-run", action="store_true", help="print the units, and write nothing")
    flag("--unit-dir", type=Path, metavar="DIR", help="directory for the units")
    flag("serve_flags", nargs="*", metavar="FLAGS", help="flags of serve, after --")


def run(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        service = _service(options.serve_flags, is_system=not options.user)
    except _InstallError as error:
        parser.error(str(error))
    directory = options.unit_dir or (_user_units() if options.user else _SYSTEM_UNITS)
    units = {
        directory / f"{NAME}.service": service_unit(service),
        directory / f"{NAME}.socket": socket_unit(service),
    }
    if options.dry_run:
        print("\n".join(f"# {path}\n{text}" for path, text in units.items()), end="")
        return 0
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in units.items():
            path.write_text(text)
            path.chmod(0o644)
    except OSError as error:
        complain(parser.prog, f"cannot write {error.filename}: {error.strerror}")
        return 1
    print("\n".join([*(f"wrote {path}" for path in units), *_what_next(service)]))
    return 0


def _what_next(service: Service) -> list[str]:
    manager = "systemctl" if service.is_system else "systemctl --user"
    data = service.writable or _SYSTEM_STATE / service.state_directory
    return [
        f"start it:      {manager} daemon-reload && {manager} enable --now {NAME}.socket {NAME}",
        f"read files again (certificates, tokens, audit policy):  {manager} reload {NAME}",
        f"credentials:   {data}/admin.kubeconfig",
    ]


def _service(words: list[str], *, is_system: bool) -> Service:
    """Check the flags of serve, and find out what the units need to know of them."""
    serve = Parser(prog=f"{NAME} serve", add_help=False)
    add_serve_flags(serve)
    options = serve.parse_args(words)
    try:
        check_flags(options)
    except FlagError as error:
        raise _InstallError(str(error)) from None
    program = _program()
    _check_paths(serve, options, program, is_system=is_system)
    state_directory, writable = "", ""
    data: Path = options.data_dir
    command = [str(program), "serve", *words]
    if data == serve.get_default("data_dir"):
        data = (_SYSTEM_STATE if is_system else _user_state()) / NAME
        command += ["--data-dir", str(data)]
    if is_system and data.parent == _SYSTEM_STATE:
        state_directory = data.name
    else:
        writable = str(data)
    host = f"[{options.bind_address}]" if ":" in options.bind_address else options.bind_address
    if not options.secure_port:
        raise _InstallError("--secure-port: a socket unit needs a port, 0 is none")
    stop = options.shutdown_delay_duration + 2 * options.shutdown_grace
    address = f"{host}:{options.secure_port}"
    return Service(command, address, is_system, state_directory, writable, stop)


def _program() -> Path:
    """The command that runs this program, beside its interpreter or as it was called."""
    beside = Path(sys.executable).with_name(NAME)
    return beside if os.access(beside, os.X_OK) else Path(sys.argv[0]).absolute()


def _check_paths(
    serve: argparse.ArgumentParser, options: argparse.Namespace, program: Path, *, is_system: bool
) -> None:
    paths: list[tuple[str, Path]] = []
    for name, value in vars(options).items():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path) and path != serve.get_default(name):
                paths.append((f"--{name.replace('_', '-')}", path))
    for name, path in paths:
        if not path.is_absolute():
            raise _InstallError(f"{name}: {path} must be an absolute path in a service")
    if not is_system:
        return
    for name, path in [("this program", program), *paths]:
        if any(path.is_relative_to(hidden) for hidden in _HIDDEN):
            raise _InstallError(
                f"{name}: {path} is hidden from the service, as all homes are; install it"
                " elsewhere, such as in /opt, or use --user"
            )


def _user_units() -> Path:
    return _of_user("XDG_CONFIG_HOME", ".config") / "systemd" / "user"


def _user_state() -> Path:
    return _of_user("XDG_STATE_HOME", ".local/state")


def _of_user(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default)
