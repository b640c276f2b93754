"""Error messages of commands for errors of the server and the system."""

from __future__ import annotations

import pytest

from fairlead.cli.error_messages import error_text
from fairlead.client import AccessError, Unreachable
from fairlead.client.errors import error_of_status

EVIL = "\x1b]0;owned\x07\x9b31m"


@pytest.mark.parametrize(
    "error",
    [
        error_of_status({"code": 404, "reason": "NotFound", "message": EVIL}),
        error_of_status(
            {
                "code": 422,
                "reason": "Invalid",
                "details": {"kind": EVIL, "causes": [{"field": EVIL, "message": EVIL}]},
            }
        ),
        Unreachable(EVIL),
        AccessError(EVIL),
    ],
)
def test_messages_of_servers_do_not_reach_a_terminal_raw(error: Exception) -> None:
    text = error_text(error)
    assert "owned" in text
    assert not {"\x1b", "\x07", "\x9b"} & set(text)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"code": "x", "details": [], "reason": {}, "message": 7}, "Error from server: 7"),
        ({"code": 422, "reason": "Invalid", "details": {"causes": [1]}}, "The request is invalid"),
        ({"reason": "Invalid", "details": {"causes": 7}}, "The request is invalid"),
    ],
)
def test_a_status_that_is_none_is_told_as_far_as_it_can_be(
    status: dict[str, object], message: str
) -> None:
    assert error_text(error_of_status(status)) == message
