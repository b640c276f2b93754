"""`tree`: shows what an object owns, down to the pods."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import documents
from fairlead.cli.relations import picture
from fairlead.cli.relations.items import all_items, get_item
from fairlead.cli.relations.states import states_of
from fairlead.cli.relations.trees import branches, owned_by, owners_of
from fairlead.cli.targets import parse_object_reference


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME", nargs="*")
    parser.add_switch("--up", help="show the owners of the object instead, and theirs")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="json")


async def run(invocation: Invocation) -> int:
    if invocation.options.output not in ("", "json"):
        raise UsageError(f"unknown output format {invocation.options.output!r}, it must be json")
    reference = await parse_object_reference(invocation, invocation.options.words)
    invocation.client.session.on_warning = None  # about kinds that only the search reads
    item = await get_item(reference.resource, reference.name, reference.namespace)
    notes: list[str] = []
    if invocation.options.up:
        root = await owners_of(invocation.client, item)
    else:
        listing = await all_items(invocation.client, reference.namespace)
        root, notes = owned_by(item, listing), listing.notes
    states = await states_of(invocation.client, (branch.item for _, branch in branches(root)))
    if invocation.options.output:
        below = "owners" if invocation.options.up else "owned"
        invocation.screen.print(documents.as_json(picture.document(root, states, below)))
    else:
        invocation.screen.print(picture.drawn(root, states, invocation.screen))
    invocation.screen.flush()
    for note in notes:
        invocation.screen.warn(f"Note: {note}")
    return 0
