"""`bootstrap-token delete`: removes bootstrap tokens."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.bootstrap_tokens.tokens import id_of, secret_name, secrets_of
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client.errors import NotFound


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="TOKEN-ID | TOKEN", nargs="*")


async def run(invocation: Invocation) -> int:
    if not invocation.options.words:
        raise UsageError("at least one token id or token is needed")
    ids = [id_of(word) for word in invocation.options.words]
    resource, dialect = await secrets_of(invocation)
    failures = Failures()
    for id in ids:
        try:
            await resource.delete(secret_name(id), dialect.system_namespace)
        except NotFound:
            failures.add(CommandError(f'there is no bootstrap token "{id}"'))
        except EXPECTED as error:
            failures.add(error)
        else:
            invocation.screen.print(f'bootstrap token "{id}" deleted')
    return failures.finish()
