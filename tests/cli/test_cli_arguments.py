"""Parsing the arguments of client commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.commands import Commands
from support.manifests import config_map, text

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.errors import UsageError


def _read(*words: str, keeps_behind: bool = False) -> Options:
    reader = ArgumentReader()
    reader.keeps_behind = keeps_behind
    reader.add_argument("words", nargs="*")
    reader.add_argument("-o", "--output", default="")
    reader.add_argument("--tail", type=int)
    reader.add_switch("-w", "--watch", help="")
    reader.add_switch("-A", "--all", help="")
    reader.add_choice("--dry-run", bare="client", help="", default="none")
    return reader.read(words)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("-o", "json"), "json"),
        (("-ojson",), "json"),
        (("-o=json",), "json"),
        (("-wojson",), "json"),
        (("-wo", "json"), "json"),
        (("--output", "json"), "json"),
        (("--output=json",), "json"),
        (("--output=",), ""),
        (("-o", "-x"), "-x"),
        (("--output", "--watch"), "--watch"),
        (("-o", "a b=c"), "a b=c"),
    ],
)
def test_a_value_stands_in_the_same_word_or_in_the_next(
    words: tuple[str, ...], output: str
) -> None:
    options = _read("pods", *words, "web")
    assert (options.words, options.output) == (["pods", "web"], output)


def test_switches_stand_together_and_the_last_word_about_one_counts() -> None:
    options = _read("-wA=false", "--watch=false", "-w")
    assert (options.watch, options.all) == (True, False)


def test_a_choice_takes_no_word_of_its_own() -> None:
    options = _read("--dry-run", "web")
    assert (options.dry_run, options.words) == ("client", ["web"])


def test_what_follows_two_dashes_is_no_flag() -> None:
    options = _read("pods", "--", "-w", "web")
    assert (options.words, options.watch, options.behind) == (["pods", "-w", "web"], False, [])


def test_what_follows_two_dashes_may_be_for_another_program() -> None:
    options = _read("job", "--", "sh", "-c", keeps_behind=True)
    assert (options.words, options.behind) == (["job"], ["sh", "-c"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nope=1",), "unknown flag: --nope"),
        (("-wZ",), "unknown shorthand flag: 'Z' in -Z"),
        (("-o",), "flag needs an argument: 'o' in -o"),
        (("--output",), "flag needs an argument: --output"),
        (
            ("--tail=x",),
            'invalid argument "x" for "--tail" flag: strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            ("-w=x",),
            'invalid argument "x" for "-w, --watch" flag: strconv.ParseBool: parsing "x": invalid'
            " syntax",
        ),
        (("\udcff",), "'\\udcff' is not UTF-8 text"),
    ],
)
def test_what_is_not_understood_is_told_as_people_know_it(
    words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        _read(*words)
    assert str(raised.value) == message


def test_flags_may_stand_between_the_words_of_a_command(fairlead: Commands) -> None:
    wanted = fairlead("config", "current-context")
    assert fairlead("config", "--kubeconfig", str(fairlead.config), "current-context") == wanted


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "-n", "{namespace}", "view-last-applied", "cm/a"),
        ("apply", "-n{namespace}", "view-last-applied", "cm/a"),
        ("apply", "-o", "yaml", "--namespace={namespace}", "view-last-applied", "cm/a"),
        ("apply", "-f", "view-last-applied", "view-last-applied"),  # first a file, then the command
    ],
)
def test_flags_may_stand_before_a_command_of_a_command(
    fairlead: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "view-last-applied").write_text(text(config_map("a", x="1")))
    fairlead("apply", "--client-side", "-f", "view-last-applied")
    named = [word.format(namespace=fairlead.space.name) for word in words]
    assert yaml.safe_load(fairlead(*named))["data"] == {"x": "1"}


def test_a_flag_before_a_command_of_a_command_must_be_one_of_its_flags(fairlead: Commands) -> None:
    ran = fairlead.run("apply", "--prune", "view-last-applied", "cm/a")
    assert (ran.code, ran.errors) == (
        1,
        "error: unknown flag: --prune\nSee 'fairlead apply view-last-applied --help' for usage.\n",
    )
