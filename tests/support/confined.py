"""Runs a command under SystemCallFilter= of systemd, without systemd: `python confined.py FILTER
~FILTER -- COMMAND`. A call that the filters do not allow fails with EPERM."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

_LIBRARY = "libseccomp.so.2"
_ALLOW, _REFUSE_WITH_EPERM = 0x7FFF0000, 0x00050001
_PR_SET_NO_NEW_PRIVS = 38


def calls_of(name: str) -> set[str]:
    """The system calls of a group, or the one of this name."""
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    )
    words = [line.strip() for line in listed.stdout.splitlines()[1:]]
    found = (calls_of(word) for word in words if word and not word.startswith("#"))
    return set().union(*found)


def allowed_by(filters: list[str]) -> set[str]:
    allowed = calls_of("@default")
    for text in filters:
        calls = set().union(*map(calls_of, text.removeprefix("~").split()))
        allowed = allowed - calls if text.startswith("~") else allowed | calls
    return allowed


def confine(filters: list[str]) -> None:
    """Confine this process and all that it becomes."""
    seccomp, libc = ctypes.CDLL(_LIBRARY, use_errno=True), ctypes.CDLL(None, use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_REFUSE_WITH_EPERM)))
    for name in allowed_by(filters):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            assert seccomp.seccomp_rule_add(context, ctypes.c_uint32(_ALLOW), number, 0) == 0
    assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert seccomp.seccomp_load(context) == 0


if __name__ == "__main__":
    separator = sys.argv.index("--")
    confine(sys.argv[1:separator])
    os.execv(sys.argv[separator + 1], sys.argv[separator + 1 :])
