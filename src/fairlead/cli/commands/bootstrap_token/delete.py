"""Remove tokens with which nodes join."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.chosen import Choice
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.joining.tokens import id_of, secret_name, secrets_of
from fairlead.client import ApiError, Unreachable
from fairlead.client.errors import NotFound


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="TOKEN-ID | TOKEN", nargs="*")


async def run(at: Invocation) -> int:
    if not at.options.words:
        raise UsageError("at least one token id or token is needed")
    ids = [id_of(word) for word in at.options.words]
    resource, dialect = await secrets_of(at)
    choice = Choice()
    for id in ids:
        try:
            await resource.delete(secret_name(id), dialect.system_namespace)
        except NotFound:
            choice.errors.append(f'error: there is no bootstrap token "{id}"')
        except (ApiError, Unreachable) as error:
            choice.failed(error)
        else:
            at.screen.print(f'bootstrap token "{id}" deleted')
    return choice.end(at)
