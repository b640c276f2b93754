"""`set subject`: adds users, groups and service accounts to bindings."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.create.access import subjects_of
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.templates.patches import Object, add_change_flags, change_selected, title

_KINDS = ("RoleBinding", "ClusterRoleBinding")


def add_flags(parser: ArgumentReader) -> None:
    add_change_flags(parser, "set", "rolebinding NAME | clusterrolebinding NAME")
    for kind, metavar in (("user", "NAME"), ("group", "NAME"), ("serviceaccount", "SPACE:NAME")):
        parser.add_argument(
            f"--{kind}",
            dest=f"added_{kind}",  # --user is also a flag of the connection
            metavar=metavar,
            action="append",
            default=[],
            help="can be repeated",
        )
    parser.set_defaults(user="")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    dialect = await invocation.client.discovery.dialect()
    wanted = subjects_of(
        dialect, options.added_user, options.added_group, options.added_serviceaccount
    )
    if not wanted:
        raise CommandError("say who: --user, --group or --serviceaccount")

    def change(resolved: ResolvedObject) -> Object:
        if resolved.resource.type.kind not in _KINDS:
            raise CommandError(f"{title(resolved)} is no binding")
        present = resolved.value.get("subjects") or []
        added = [subject for subject in wanted if subject not in present]
        return {"subjects": [*present, *added]} if added else {}

    return await change_selected(invocation, options.words, change, "subjects")
