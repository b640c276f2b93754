"""The static token file: CSV with token, user, uid and optionally groups."""

from __future__ import annotations

import csv
from pathlib import Path

from fairlead.authentication.chain import Credentials, with_authenticated_group
from fairlead.authentication.user import User
from fairlead.errors import unauthorized


class TokenFileError(ValueError):
    """A token file that cannot be used; the text names the line."""


def read_token_file(path: Path) -> dict[str, User]:
    """The users by token; raises TokenFileError."""
    users: dict[str, User] = {}
    try:
        with path.open(newline="") as file:
            for row in (reader := csv.reader(file, strict=True)):
                if row:
                    _add(users, row, f"{path}, line {reader.line_num}")
    except OSError as error:
        raise TokenFileError(f"cannot read the token file {path}: {error.strerror}") from None
    except csv.Error as error:
        raise TokenFileError(f"{path}, line {reader.line_num}: {error}") from None
    return users


def _add(users: dict[str, User], row: list[str], where: str) -> None:
    if len(row) < 3:
        raise TokenFileError(f"{where}: expected at least token, user name and user uid")
    token, name, uid = (cell.strip() for cell in row[:3])
    if not token:
        raise TokenFileError(f"{where}: the token is empty")
    if not name:
        raise TokenFileError(f"{where}: the user name is empty")
    if token in users:
        raise TokenFileError(f"{where}: the token stands in the file twice")
    listed = row[3].split(",") if len(row) > 3 else []
    groups = tuple(group.strip() for group in listed if group.strip())
    users[token] = with_authenticated_group(User(name, uid, groups))


class StaticTokens:
    """Looking a token up in a hash table reveals nothing of other tokens by its timing."""

    def __init__(self, users: dict[str, User]) -> None:
        self._users = users

    async def authenticate(self, request: Credentials) -> User | None:
        token = bearer_token(request)
        if not token:
            return None
        user = self._users.get(token)
        if user is None:
            raise unauthorized()
        return user


def bearer_token(request: Credentials) -> str:
    """The bearer token of a request, or nothing."""
    scheme, _, token = request.header(b"authorization").partition(" ")
    return token if scheme.lower() == "bearer" and token.strip() == token else ""
