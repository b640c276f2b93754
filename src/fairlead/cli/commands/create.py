"""`create`: creates objects from files or from flags."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.edit import edited
from fairlead.cli.commands.raw import send_file
from fairlead.cli.create.creation import create_one, resolve_form
from fairlead.cli.create.form import FormArguments, Object
from fairlead.cli.create.forms import FORMS, add_form_flags, form_of, options_of
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import Resolver, files_of
from fairlead.cli.selection import by_labels
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    add_validation_flag,
    sourced,
    write_query,
)
from fairlead.client import ApiError, Resource, ResourceType
from fairlead.client.errors import NotFound


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME", nargs="*")
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_validation_flag(parser)
    add_manager_flag(parser, "fairlead-create")
    parser.add_switch(
        "--save-config", help="save the configuration in an annotation, for apply --client-side"
    )
    form = form_of(parser.words, ("-o", "--output", "-f", "--filename", "--field-manager"))
    parser.set_defaults(form=form)
    if form in FORMS:
        parser.usage = f"{parser.prog} {form} NAME [FLAGS]"
        parser.description = f"Create {FORMS[form].help}."
        parser.keeps_behind = FORMS[form].has_command
        add_form_flags(parser, FORMS[form])
        return
    add_file_flags(parser, "create")
    parser.add_label_selector()
    parser.add_argument(
        "--raw", metavar="PATH", default="", help="send the file as it is with POST to this path"
    )
    parser.add_switch("--edit", help="open the objects in an editor before they are created")
    parser.add_without_effect("--windows-line-endings")
    listed = "\n".join(f"  {name.ljust(24)} {entry.help}" for name, entry in FORMS.items())
    parser.epilog = f"Without files: {parser.prog} KIND NAME, each with flags of its own:\n{listed}"


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    form = invocation.options.form
    if form in FORMS:
        return await _create_from_flags(invocation, form)
    if form:
        names = [name.partition(" ")[2] for name in FORMS if name.startswith(f"{form} ")]
        raise UsageError(f"{form} needs one of: {', '.join(names)}")
    if invocation.options.words:
        raise UsageError(f'unknown command "{" ".join(invocation.options.words)}"')
    if invocation.options.raw:
        return await send_file(invocation, "POST")
    return await _create_from_files(invocation)


async def _create_from_files(invocation: Invocation) -> int:
    query = write_query(invocation.options)
    failures, resolver = Failures(), Resolver(invocation)
    wanted = files_of(invocation, "create")
    if invocation.options.selector:
        matches = by_labels(invocation.options.selector)
        wanted = [manifest for manifest in wanted if matches(manifest.value)]
    if invocation.options.edit:
        wanted = await edited(wanted)
    for manifest in wanted:
        try:
            await create_one(invocation, await resolver.of(manifest), query)
            resolver.remember(manifest.value)
        except CommandFailed as error:
            failures.add(error)
        except EXPECTED as error:
            failures.add(sourced(error, "creating", manifest.origin))
    return failures.finish()


async def _create_from_flags(invocation: Invocation, form: str) -> int:
    names = invocation.options.words[len(form.split()) :]
    if len(names) != 1:
        raise UsageError(f"give one NAME, not {len(names)}")
    dialect = await invocation.client.discovery.dialect()
    making = FormArguments(
        names[0], options_of(FORMS[form], invocation.options), invocation.client, dialect
    )
    value = await FORMS[form].build(making)
    query = write_query(invocation.options)
    if form == "token":
        return await _create_token(invocation, names[0], value)
    resolved = await resolve_form(invocation, value)
    try:
        await create_one(invocation, resolved, query)
    except ApiError as error:
        if not FORMS[form].failure:
            raise
        missing = [error] if isinstance(error, NotFound) else []
        raise CommandError(f"{FORMS[form].failure}{error.message}", missing=missing) from None
    return 0


async def _create_token(invocation: Invocation, name: str, value: Object) -> int:
    accounts: Resource = await invocation.client.resource("serviceaccounts")
    try:
        token = await accounts.create(value, invocation.namespace, name=name, subresource="token")
    except ApiError as error:
        raise CommandError(f"{FORMS['token'].failure}{error.message}") from None
    if invocation.options.output:
        group = value["apiVersion"].partition("/")[0]
        type = ResourceType(group, "v1", "tokenrequests", "TokenRequest", True, "tokenrequest")
        show_result(invocation, type, token, "")
    else:
        invocation.screen.print(token["status"]["token"])
    return 0
