"""`set serviceaccount`: sets the service account of pods."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.targets import checked_name
from fairlead.cli.templates.patches import (
    Object,
    add_change_flags,
    change_selected,
    pod_patch,
    pod_spec,
)


def add_flags(parser: ArgumentReader) -> None:
    add_change_flags(parser, "set", "KIND [NAME...] SERVICEACCOUNT")


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if not words or (len(words) < 2 and not invocation.options.filename):
        raise CommandError("name the object and then the service account")
    name = checked_name(words[-1], "service account")

    def change(resolved: ResolvedObject) -> Object:
        if pod_spec(resolved).get("serviceAccountName") == name:
            return {}
        return pod_patch(resolved, {"serviceAccountName": name})

    return await change_selected(invocation, words[:-1], change, "serviceaccount")
