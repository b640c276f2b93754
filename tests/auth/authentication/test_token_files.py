"""The static token file."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.authentication import bearer, run, user_of

from fairlead.auth.authentication.bearer import BearerTokens
from fairlead.auth.authentication.token_file import StaticTokens, TokenFileError, read_token_file
from fairlead.auth.authentication.user import User


def read(tmp_path: Path, text: str) -> dict[str, User]:
    path = tmp_path / "tokens.csv"
    path.write_text(text)
    return read_token_file(path)


def test_groups_stand_in_one_quoted_column(tmp_path: Path) -> None:
    users = read(tmp_path, 'a,jane,1,"dev,ops"\nb,joe,2\nc,jim,3,dev\n\n')
    assert users["a"] == User("jane", "1", ("dev", "ops", "system:authenticated"))
    assert users["b"] == User("joe", "2", ("system:authenticated",))
    assert users["c"].groups == ("dev", "system:authenticated")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secret,jane\n", "line 1: expected at least token, user name and user uid"),
        ("secret,jane,1\nsecret,joe\n", "line 2: expected at least"),
        (",jane,1\n", "line 1: the token is empty"),
        ("secret,,1\n", "line 1: the user name is empty"),
        ("secret,jane,1\nsecret,joe,2\n", "line 2: the token is in the file twice"),
        ('secret,jane,1,"dev\n', "line 1: unexpected end of data"),
        ("secret,jane,1,dev,ops\n", "line 1: more than four columns"),
        ("se cret,jane,1\n", "line 1: the token has characters that a header must not have"),
    ],
)
def test_bad_lines_are_named_without_their_token(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TokenFileError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(TokenFileError, match=r"cannot read the token file .*none"):
        read_token_file(tmp_path / "none")


def test_tokens_beyond_ascii(tmp_path: Path) -> None:
    users = read(tmp_path, "schlüssel,jane,1\n")
    tokens = BearerTokens([StaticTokens(users)], ())
    request = bearer("schlüssel")
    assert user_of(tokens.authenticate(request)) is users["schlüssel"]


def test_audiences(tmp_path: Path) -> None:
    method = StaticTokens(read(tmp_path, "a,jane,1\n"), ("api",))
    assert run(method.check("a", ("other",))) is None
    granted = run(method.check("a", ("other", "api")))
    assert granted is not None
    assert granted.audiences == ("api",)
