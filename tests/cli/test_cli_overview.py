"""The help of `fairlead`, and unknown commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli import main
from fairlead.cli.catalog import COMMANDS, SECTIONS

SERVER_SIDE = ("serve", "backup", "restore", "migrate")


def test_all_commands_are_listed_by_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in (*SERVER_SIDE, *COMMANDS):
        assert any(line.startswith(f"  {name} ") for line in lines), name
    headings = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Run a server", *SECTIONS]


def test_nothing_of_a_command_is_loaded_for_that() -> None:
    program = (
        "import sys; from fairlead.cli import main; main(['--help'])\n"
        "heavy = ('fairlead.cli.commands', 'fairlead.process', 'asyncio', 'argparse', 'logging')\n"
        "assert not [name for name in sys.modules if name.startswith(heavy)]"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (("help", "scale"), "usage: fairlead scale KIND [NAME...] | KIND/NAME... --replicas N"),
        (("help", "rollout", "undo"), "usage: fairlead rollout undo KIND NAME"),
        (("help", "rollout"), "  fairlead rollout status KIND NAME"),
        (("help", "backup"), "usage: fairlead backup FILE [FLAGS]"),
        (("serve", "--help"), "usage: fairlead serve [FLAGS]"),
    ],
)
def test_help_of_a_command(
    words: tuple[str, ...], usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(words)
    except SystemExit as end:  # as argparse ends
        code = int(end.code or 0)
    assert code == 0
    assert capsys.readouterr().out.startswith(usage)


def test_what_was_meant_is_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["srve"]) == 2
    assert capsys.readouterr().err == (
        'error: unknown command "srve" for "fairlead"\n\nDid you mean this?\n\tserve\n'
    )


@pytest.mark.parametrize("word", ["qqqq", "x" * 100_000, "\x1b[31m"])
def test_what_resembles_nothing_is_told_in_one_line(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    message = capsys.readouterr().err
    assert len(message) < 400
    assert len(message.splitlines()) == 1
    assert "\x1b" not in message


@pytest.mark.parametrize("words", [("-n", "x"), ("--nope",), ("--as=bob",)])
def test_flags_alone_are_not_enough(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "a command is needed" in capsys.readouterr().err


def test_it_can_be_run_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("fairlead ")
