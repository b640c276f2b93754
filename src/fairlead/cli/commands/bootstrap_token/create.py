"""`bootstrap-token create`: creates a token with which nodes join."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.bootstrap_tokens.tokens import (
    GROUP,
    GROUP_PREFIX,
    USAGES,
    new_token,
    read_token,
    secret_of,
    secrets_of,
)
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.write_options import add_dry_run_flag, dry_run, write_query
from fairlead.client.errors import AlreadyExists

_DAY = 24 * 3600.0


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="TOKEN", nargs="*")
    parser.add_argument(
        "--description", metavar="TEXT", default="", help="description of the token"
    )
    parser.add_argument(
        "--ttl",
        type=seconds,
        default=_DAY,
        metavar="DURATION",
        help="lifetime of the token; 0 for ever",
    )
    parser.add_argument(
        "--usages",
        metavar="NAMES",
        action="append",
        help=f"allowed uses; by default {','.join(USAGES)}",
    )
    parser.add_argument(
        "--groups",
        metavar="GROUPS",
        action="append",
        default=[],
        help=f"groups of the user of the token; each begins with {GROUP_PREFIX}",
    )
    add_dry_run_flag(parser)


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if len(options.words) > 1:
        raise UsageError("at most one token can be given")
    if options.ttl < 0 or 0 < options.ttl < 1:
        raise UsageError("--ttl must be at least a second, or 0 for ever")
    query = write_query(options)
    usages, groups = _usages(options.usages), _groups(options.groups)
    if groups and "authentication" not in usages:
        raise UsageError("--groups cannot be used without the usage authentication")
    token = read_token(options.words[0]) if options.words else new_token()
    resource, dialect = await secrets_of(invocation)
    value = secret_of(
        token,
        dialect,
        description=options.description,
        ttl=options.ttl,
        usages=usages,
        groups=groups,
    )
    if dry_run(options) != "client":
        try:
            await resource.create(value, **query)
        except AlreadyExists:
            raise CommandError(f"there is a token {token.id} already") from None
    invocation.screen.print(str(token))
    return 0


def _usages(values: list[str] | None) -> list[str]:
    names = _split(values) if values is not None else list(USAGES)
    unknown = [name for name in names if name not in USAGES]
    if unknown or not names:
        wrong = f'unknown usage "{unknown[0]}"' if unknown else "one is needed"
        raise UsageError(f"--usages: {wrong}; there are {' and '.join(USAGES)}")
    return names


def _groups(values: list[str]) -> list[str]:
    groups = _split(values)
    for group in groups:
        if GROUP.fullmatch(group) is None:
            raise UsageError(
                f"--groups: {group} is not like system:bootstrappers:NAME ({GROUP.pattern})"
            )
    return groups


def _split(values: list[str]) -> list[str]:
    words = [word for text in values for word in text.split(",") if word]
    return list(dict.fromkeys(words))
