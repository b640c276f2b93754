"""The static token file: CSV with token, user, uid and optionally groups."""

from __future__ import annotations

import csv
from hashlib import sha256
from pathlib import Path

from fairlead.auth.authentication.bearer import (
    INVALID,
    Audiences,
    Grant,
    as_header_text,
    bearer_token,
    known_audiences,
)
from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.user import User, with_authenticated_group

TOKEN_FILE = "token file"  # resource of an anchor whose key is the hash of a token


class TokenFileError(ValueError):
    """An unusable token file; the text names the line, never a token."""


def read_token_file(path: Path) -> dict[str, User]:
    """The users by token; raises TokenFileError."""
    users: dict[str, User] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in (reader := csv.reader(file, strict=True, skipinitialspace=True)):
                if row:
                    _add(users, row, f"{path}, line {reader.line_num}")
    except OSError as error:
        raise TokenFileError(f"cannot read the token file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TokenFileError(f"{path} is not UTF-8 text") from None
    except csv.Error as error:
        raise TokenFileError(f"{path}, line {reader.line_num}: {error}") from None
    return users


def _add(users: dict[str, User], row: list[str], where: str) -> None:
    if len(row) < 3:
        raise TokenFileError(f"{where}: expected at least token, user name and user uid")
    if len(row) > 4:
        raise TokenFileError(f"{where}: more than four columns; put double quotes around groups")
    token, name, uid = (cell.strip() for cell in row[:3])
    if not token:
        raise TokenFileError(f"{where}: the token is empty")
    if len(token.split()) > 1 or not token.isprintable():
        raise TokenFileError(f"{where}: the token has characters that a header must not have")
    if not name:
        raise TokenFileError(f"{where}: the user name is empty")
    if token in users:
        raise TokenFileError(f"{where}: the token is in the file twice")
    listed = row[3].split(",") if len(row) > 3 else []
    groups = tuple(group.strip() for group in listed if group.strip())
    users[token] = with_authenticated_group(User(name, uid, groups))


class StaticTokens:
    """Tokens by hash table: the timing of a lookup reveals nothing about other tokens."""

    def __init__(self, users: dict[str, User], own_audiences: Audiences = ()) -> None:
        self._own_audiences = own_audiences
        self._users: dict[str, User] = {}
        self._users_by_hash: dict[str, User] | None = None  # made when it is needed
        self.replace(users)

    def replace(self, users: dict[str, User]) -> bool:
        """Accept these tokens from now on; returns whether they differ from those before. Grants
        that were cached before must be dropped."""
        before = self._users
        self._users = {as_header_text(token): user for token, user in users.items()}
        self._users_by_hash = None
        return before != self._users

    async def check(self, token: str, audiences: Audiences) -> Grant | None:
        user = self._users.get(token)
        if user is None:
            return None
        shared = known_audiences(audiences, self._own_audiences)
        if audiences and not shared:
            return None
        return Grant(user, shared, anchors=((TOKEN_FILE, _hash(token)),))

    def line(self, hashed: str) -> str:
        """The hash of the user of a token, given the token's hash; empty if there is none. The file
        may have changed since."""
        if self._users_by_hash is None:
            self._users_by_hash = {_hash(token): user for token, user in self._users.items()}
        user = self._users_by_hash.get(hashed)
        return _hash(repr((user.name, user.uid, user.groups))) if user is not None else ""

    def authenticate(self, request: Credentials) -> User | None:
        """Stand-alone use, without BearerTokens."""
        token, _ = bearer_token(request.header(b"authorization"))
        if not token:
            return None
        user = self._users.get(token)
        if user is None:
            raise Rejected(INVALID)
        return user


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
