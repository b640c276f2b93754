"""Every listed command exists and describes its arguments."""

from __future__ import annotations

import pytest
from support.commands import run_words

from fairlead.cli.catalog import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_says_what_it_takes(name: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run_words(*name.split(), "--help")
    assert ended.value.code == 0
