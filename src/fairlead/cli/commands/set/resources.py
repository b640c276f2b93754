"""`set resources`: sets what containers request and may use."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.templates.patches import (
    Object,
    add_change_flags,
    add_container_flag,
    change_selected,
    container_patch,
    containers,
    pod_patch,
    pod_spec,
    title,
)
from fairlead.codec.types.quantity import QuantityError, quantity

_PARTS = ("limits", "requests")


def add_flags(parser: ArgumentReader) -> None:
    add_change_flags(parser, "set", "KIND [NAME...]")
    add_container_flag(parser)
    for part, text in zip(_PARTS, ("may use", "request"), strict=True):
        parser.add_argument(
            f"--{part}",
            metavar="cpu=1,memory=1Gi",
            default="",
            help=f"what the containers {text}",
        )


async def run(invocation: Invocation) -> int:
    options = invocation.options
    wanted = {part: _amounts(getattr(options, part), part) for part in _PARTS}
    wanted = {part: amounts for part, amounts in wanted.items() if amounts}
    if not wanted:
        raise CommandError("say what to set: --limits, --requests or both")

    def change(resolved: ResolvedObject) -> Object:
        changed = []
        found = containers(pod_spec(resolved), options.containers)
        if not found:
            raise CommandError(f"{title(resolved)} has no container {options.containers}")
        for name, container in found:
            present = container.get("resources") or {}
            merged = {part: {**(present.get(part) or {}), **wanted[part]} for part in wanted}
            if any(merged[part] != (present.get(part) or {}) for part in merged):
                changed.append((name, {"name": container["name"], "resources": merged}))
        return pod_patch(resolved, container_patch(changed))

    return await change_selected(invocation, options.words, change, "resource requirements")


def _amounts(text: str, part: str) -> dict[str, str]:
    amounts = {}
    for word in filter(None, text.split(",")):
        name, sign, amount = word.partition("=")
        if not name or not sign or not amount:
            raise CommandError(f"--{part} takes NAME=AMOUNT, such as cpu=500m, not {word}")
        try:
            quantity(amount)
        except QuantityError:
            raise CommandError(f"--{part}: {amount} is no amount") from None
        amounts[name] = amount
    return amounts
