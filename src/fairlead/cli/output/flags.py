"""The flags that choose how a command prints objects; `printers` has the formats themselves."""

from typing import NamedTuple

from fairlead.cli.arguments import ArgumentReader, Options

FORMATS = (
    "custom-columns",
    "custom-columns-file",
    "go-template",
    "go-template-file",
    "json",
    "jsonpath",
    "jsonpath-as-json",
    "jsonpath-file",
    "kyaml",
    "name",
    "wide",
    "yaml",
)


class Choice(NamedTuple):
    """The output flags of a command."""

    output: str = ""
    template: str = ""
    headers: bool = True
    managed_fields: bool = False
    missing_keys: bool = True  # whether templates may name fields that an object does not have


def is_table(output: str) -> bool:
    """Whether the format is a table, which the server makes."""
    return output in ("", "wide")


def add_template_flags(parser: ArgumentReader) -> None:
    parser.add_argument(
        "--template",
        metavar="TEMPLATE",
        default="",
        help="the template of -o go-template or jsonpath, or the file with it",
    )
    parser.add_switch(
        "--allow-missing-template-keys",
        default=True,
        help="print fields that an object does not have as if they were empty",
    )


def choice_of(options: Options) -> Choice:
    """The output that these flags ask for; a command need not have them all."""
    return Choice(
        options.output,
        getattr(options, "template", ""),
        not getattr(options, "no_headers", False),
        getattr(options, "show_managed_fields", False),
        getattr(options, "allow_missing_template_keys", True),
    )
