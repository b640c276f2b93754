"""The files of authentication that are read again on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlead.auth.authentication.authorities import Authorities, AuthorityError
from fairlead.auth.authentication.token_file import StaticTokens, TokenFileError, read_token_file
from fairlead.base.files import NotReloaded, Reloadable


def of_authorities(name: str, authorities: Authorities) -> Reloadable:
    async def read_again() -> bool:
        try:
            return authorities.read_again()
        except AuthorityError as error:
            raise NotReloaded(str(error)) from None

    return Reloadable(name, read_again)


def of_token_file(
    name: str, path: Path, tokens: StaticTokens, forget: Callable[[], None]
) -> Reloadable:
    """`forget` drops the users of tokens that are cached."""

    async def read_again() -> bool:
        try:
            is_new = tokens.replace(read_token_file(path))
        except TokenFileError as error:
            raise NotReloaded(str(error)) from None
        if is_new:
            forget()
        return is_new

    return Reloadable(name, read_again)
