"""`create`: creates objects from files or from flags."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import annotation_of, recorded
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.create.form import Making, Object
from fairlead.cli.create.forms import FORMS, add_form_flags, form_of, options_of
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Manifest, add_file_flags
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject, Resolver, files_of
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    add_validation_flag,
    dry_run,
    note,
    sourced,
    write_query,
)
from fairlead.client import ApiError, Resource


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
    listed = "\n".join(f"  {name.ljust(24)} {one.help}" for name, one in FORMS.items())
    parser.epilog = f"Without files: {parser.prog} KIND NAME, each with flags of its own:\n{listed}"


async def run(at: Invocation) -> int:
    check_output(at)
    form = at.options.form
    if form in FORMS:
        return await _create_from_flags(at, form)
    if form:
        known = [name.partition(" ")[2] for name in FORMS if name.startswith(f"{form} ")]
        raise UsageError(f"{form} needs one of: {', '.join(known)}")
    if at.options.words:
        raise UsageError(f'unknown command "{" ".join(at.options.words)}"')
    return await _create_from_files(at)


async def _create_from_files(at: Invocation) -> int:
    query = write_query(at.options)
    failures, places = Failures(), Resolver(at)
    for one in files_of(at, "create"):
        try:
            await _create_one(at, await places.of(one), query)
            places.made(one.value)
        except CommandFailed as error:
            failures.add(error)
        except EXPECTED as error:
            failures.add(sourced(error, "creating", one.origin))
    return failures.finish()


async def _create_one(at: Invocation, one: ResolvedObject, query: dict[str, str]) -> None:
    made = await _prepared(at, one.value)
    if dry_run(at.options) != "client":
        made = await one.resource.create(made, one.namespace, **query)
    show_result(at, one.resource.type, made, "created", note(at.options))


async def _prepared(at: Invocation, value: Object) -> Object:
    if not at.options.save_config:
        return value
    return recorded(value, annotation_of(await at.client.discovery.dialect()))


async def _create_from_flags(at: Invocation, form: str) -> int:
    names = at.options.words[len(form.split()) :]
    if len(names) != 1:
        raise UsageError(f"give one NAME, not {len(names)}")
    dialect = await at.client.discovery.dialect()
    making = Making(names[0], options_of(FORMS[form], at.options), at.client, dialect)
    value = await FORMS[form].build(making)
    query = write_query(at.options)
    if form == "token":
        return await _create_token(at, names[0], value)
    one = await _placed(at, value)
    try:
        await _create_one(at, one, query)
    except ApiError as error:
        if not FORMS[form].said:
            raise
        raise CommandError(f"{FORMS[form].said}{error.message}") from None
    return 0


async def _placed(at: Invocation, value: Object) -> ResolvedObject:
    """Resolve the object. A client dry run shows its namespace only if -n was given."""
    one = await Resolver(at).of(Manifest(value, ""))
    if one.namespace and not at.options.namespace and dry_run(at.options) == "client":
        del one.value["metadata"]["namespace"]
    return one


async def _create_token(at: Invocation, name: str, value: Object) -> int:
    accounts: Resource = await at.client.resource("serviceaccounts")
    try:
        made = await accounts.create(value, at.namespace, name=name, subresource="token")
    except ApiError as error:
        raise CommandError(f"{FORMS['token'].said}{error.message}") from None
    if at.options.output:
        show_result(at, accounts.type, made, "")
    else:
        at.screen.print(made["status"]["token"])
    return 0
