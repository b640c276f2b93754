"""`certificate deny`: denies certificate signing requests."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.certificate_approval import Decision, add_deciding_flags, decide
from fairlead.cli.invocation import Invocation

_VERDICT = Decision("Denied", "Approved", "FairleadDeny", "deny", "denied")


def add_flags(parser: ArgumentReader) -> None:
    add_deciding_flags(parser, _VERDICT)


async def run(invocation: Invocation) -> int:
    return await decide(invocation, _VERDICT)
