"""`set selector`: sets the selector of Services."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.templates.patches import Object, add_change_flags, change_selected, title
from fairlead.codec.types.names import label_value


def add_flags(parser: ArgumentReader) -> None:
    add_change_flags(parser, "set", "service NAME KEY=VALUE[,KEY=VALUE...]")
    parser.add_argument(
        "--resource-version",
        metavar="VERSION",
        default="",
        help="only if the object still has this resource version",
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if not words or "=" not in words[-1]:
        raise CommandError("give the selector at the end, such as app=web,tier=front")
    wanted: dict[str, str] = {}
    for word in words[-1].split(","):
        key, sign, value = word.partition("=")
        value = value.removeprefix("=")
        if not sign or not key or key.endswith("!") or label_value(value):
            raise CommandError(f"{word}: a selector of a Service is KEY=VALUE")
        wanted[key] = value

    def change(resolved: ResolvedObject) -> Object:
        if resolved.resource.type.qualified != "services":
            raise CommandError(f"{title(resolved)}: only the selectors of Services can be set")
        present = (resolved.value.get("spec") or {}).get("selector") or {}
        if present == wanted:
            return {}
        patch: Object = {"spec": {"selector": {**dict.fromkeys(present), **wanted}}}
        if invocation.options.resource_version:
            patch["metadata"] = {"resourceVersion": invocation.options.resource_version}
        return patch

    return await change_selected(invocation, words[:-1], change, "selector")
