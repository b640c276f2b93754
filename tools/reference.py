"""Generates pages of docs/reference from the code, and README's table of flags."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_type_hints

import fairlead
from fairlead.cli.parser import Parser, shown_default

if TYPE_CHECKING:
    from fairlead.codec.types.descriptions import Texts
    from fairlead.codec.types.model import Struct

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = ROOT / "docs" / "reference"
BEGIN, END = "<!-- flags: made by tools/reference.py -->\n", "<!-- end of flags -->\n"
NOTE = "<!-- made by tools/reference.py from the code: change it there -->\n"

# The flags in README's table.
MAX_USED = (
    "--dialect", "--data-dir", "--secure-port", "--bind-address", "--simulate-nodes", "--testing",
    "--storage", "--workers", "--history-retention", "--authorization-mode",
)  # fmt: skip

Row = Sequence[str]


def table(head: Row, rows: Iterable[Row]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def code(text: str) -> str:
    """Format code for a table cell of any renderer."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def page(title: str, *lines: str) -> str:
    return "\n".join([f"# {title}", "", NOTE, *lines]).rstrip("\n") + "\n"


# Flags


def _serve_parser() -> Parser:
    from fairlead.process.flags.serve import add_serve_flags

    parser = Parser(prog="fairlead serve", add_help=False)
    add_serve_flags(parser)
    return parser


def _flag_row(action: argparse.Action) -> Row:
    names = ", ".join(map(code, action.option_strings))
    default = code(found) if (found := shown_default(action)) else ""
    return names, default, (action.help or "").replace("|", "&#124;")


def _shown(actions: Iterable[argparse.Action]) -> list[argparse.Action]:
    """Return the visible flags."""
    return [one for one in actions if one.option_strings and one.help != argparse.SUPPRESS]


def flags() -> str:
    lines = [
        "The flags of `fairlead serve`; `fairlead serve --help` shows them too. Names and meanings",
        "are those of the reference's server where it has them. Some further flags of it are",
        "accepted without effect; the log says so at the start.",
        "",
    ]
    for group in _serve_parser()._action_groups:
        if shown := _shown(group._group_actions):
            lines += [f"## {group.title}", ""]
            lines += table(("flag", "default", ""), map(_flag_row, shown))
    return page("Flags", *lines)


def most_used_flags() -> str:
    actions = _serve_parser()._option_string_actions
    rows = (_flag_row(actions[name]) for name in MAX_USED)
    return "\n".join(table(("flag", "default", ""), rows))


def with_most_used_flags(text: str) -> str:
    """Return the README with the current table."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{most_used_flags()}\n{END}{tail}"


# Commands


def _command_flags(name: str) -> list[argparse.Action]:
    from fairlead.cli.arguments import ArgumentReader

    reader = ArgumentReader(prog=f"fairlead {name}", add_help=False)
    import_module(_command_module(name)).add_flags(reader)
    return _shown(reader._actions)


def _command_module(name: str) -> str:
    return f"fairlead.cli.commands.{name.replace(' ', '.').replace('-', '_')}"


def _connection_flags() -> list[argparse.Action]:
    from fairlead.cli.arguments import ArgumentReader
    from fairlead.cli.connection_flags import add_connection_flags

    reader = ArgumentReader(prog="fairlead", add_help=False)
    add_connection_flags(reader)
    return _shown(reader._actions)


def _command_row(name: str, usage: str, text: str) -> Row:
    return code(f"fairlead {name} {usage}".strip()), text


def commands() -> str:
    from fairlead.cli.catalog import SECTIONS, SERVER_SIDE

    lines = [
        "All commands, by purpose; [The command line](../command-line.md) shows some of them at",
        "work. The flags of `serve` are in [Flags](flags.md), those of `backup`, `restore` and",
        "`migrate` in [Backup](../backup.md).",
        "",
        "## Run a server",
        "",
        *table(
            ("command", ""), (_command_row(name, *one[:2]) for name, one in SERVER_SIDE.items())
        ),
    ]
    for section, listed in SECTIONS.items():
        rows = [_command_row(name, *one) for name, one in listed.items()]
        lines += [f"## {section}", "", *table(("command", ""), rows)]
        for name in listed:
            if found := _command_flags(name):
                lines += [f"### {name}", "", *table(("flag", "default", ""), map(_flag_row, found))]
    lines += ["## Flags of every command", ""]
    lines += table(("flag", "default", ""), map(_flag_row, _connection_flags()))
    return page("Commands", *lines)


# Metrics


def _import_counts() -> None:
    """Import every module that registers a metric; `vars` runs the body of a lazy one."""
    root = Path(fairlead.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "= REGISTRY." in path.read_text():
            name = ".".join(("fairlead", *path.relative_to(root).with_suffix("").parts))
            vars(import_module(name))


def metrics() -> str:
    from fairlead.api.metrics import Metrics

    _import_counts()
    nothing: Any = SimpleNamespace(collections=list, size=int, revision=0)
    rows = []
    for family in sorted(Metrics(nothing).families(), key=lambda family: family.name):
        labels = ", ".join(f"`{label}`" for label in family.labels)
        rows.append((f"`{family.name}`", family.kind, labels, family.text))
    return page(
        "Metrics",
        "The metrics of `/metrics`, in Prometheus' format, with the reference's names where it",
        "has the same. With [several processes](../workers.md) any of them answers for all.",
        "Reading needs the permission to `get` the path.",
        "",
        *table(("metric", "kind", "labels", ""), rows),
    )


# Served APIs


def served() -> str:
    from fairlead.controllers.catalogue import _NAMES, _OFF_BY_DEFAULT, _WITHOUT_EFFECT
    from fairlead.resources.gates import DEFAULTS

    lines = [
        "Names are those of the dialect `kubernetes`; in the dialect `cluster` the groups that end",
        "in `k8s.io` end in `cluster.io`. [Dialects](dialects.md) lists all that differs between",
        "the two.",
        "",
        "## Resources",
        "",
        *table(("version", "resources (subresources)", "only in"), _served_rows()),
        "## Admission plugins",
        "",
        "In the order in which they run; those in bold are on by default.",
        "",
        *_plugins(),
        "",
    ]
    lines += ["## Controllers", "", "By the names of `--controllers`.", ""]
    running = _NAMES - _WITHOUT_EFFECT - _OFF_BY_DEFAULT
    for title, some in (
        ("run", running),
        ("are off unless named", _OFF_BY_DEFAULT),
        ("are taken and do nothing", _WITHOUT_EFFECT),
    ):
        lines += [f"- {title}: {', '.join(sorted(some))}"]
    lines += ["", "## Feature gates that change something", ""]
    for title, wanted in (("on by default", True), ("off by default", False)):
        lines += [f"- {title}: {', '.join(name for name, on in DEFAULTS.items() if on is wanted)}"]
    return page("What is served", *lines)


def _served_rows() -> Iterator[Row]:
    """Yield group versions and their resources, with the dialect if only one has them."""
    from fairlead.base.dialect import DIALECTS, KUBERNETES
    from fairlead.codec.types.builtin import BuiltinTypes
    from fairlead.resources.registry import GroupVersion, Resources

    served: dict[str, dict[str, GroupVersion]] = {}
    for dialect in DIALECTS.values():
        for found in Resources(dialect, BuiltinTypes(dialect)).group_versions():
            named = found.api_version.replace(dialect.group_domain, KUBERNETES.group_domain)
            served.setdefault(named, {})[dialect.name] = found
    for named, dialects in served.items():
        resources = {name: one for gv in dialects.values() for name, one in gv.resources.items()}
        names = ", ".join(
            f"{name} ({', '.join(one.subresources)})" if one.subresources else name
            for name, one in resources.items()
        )
        alone = "" if len(dialects) == len(DIALECTS) else ", ".join(f"`{one}`" for one in dialects)
        yield f"`{named}`", names, alone


def _plugins() -> Iterator[str]:
    from fairlead.admission.catalogue import ORDER, on_by_default
    from fairlead.base.dialect import DIALECTS

    on = {name: on_by_default(dialect) for name, dialect in DIALECTS.items()}
    everywhere = frozenset.intersection(*on.values())
    yield ", ".join(f"**{name}**" if name in everywhere else name for name in ORDER) + "."
    for dialect, names in on.items():
        if alone := sorted(names - everywhere):
            yield from ("", f"In the dialect `{dialect}` on by default, too: {', '.join(alone)}.")


# Dialects


def dialects() -> str:
    from fairlead.base.dialect import CLUSTER, KUBERNETES, SWITCHES

    differing, same = [], []
    for name, text in _dialect_names():
        specified, reference = f"`{getattr(CLUSTER, name)}`", f"`{getattr(KUBERNETES, name)}`"
        if specified != reference:
            differing.append((f"`{name}`", specified, reference, text))
        else:
            same.append((f"`{name}`", specified, text))
    switches = (
        (f"`{name}`", one.section, one.specified, one.reference) for name, one in SWITCHES.items()
    )
    return page(
        "Dialects",
        "`--dialect cluster`, the default, follows the specification that Fairlead was built from;",
        "`--dialect kubernetes` follows the reference. This page lists all differences, from",
        "`base/dialect.py`, except resources that [only one of them serves](served.md#resources).",
        "",
        "## Names",
        "",
        *table(("name", "`cluster`", "`kubernetes`", "what it is"), differing),
        "Names that the specification prints as the reference has them:",
        "",
        *table(("name", "in both", "what it is"), same),
        "## Behaviour",
        "",
        "Each switch with the document and section of the specification that it follows, what that",
        "says, and what the reference does instead.",
        "",
        *table(("switch", "section", "`cluster`", "`kubernetes`"), switches),
    )


def _dialect_names() -> Iterator[tuple[str, str]]:
    """Yield the names of a dialect with their descriptions."""
    from fairlead.base.dialect import Dialect

    for name, hint in get_type_hints(Dialect, include_extras=True).items():
        if name != "follows_specification":
            yield name, *hint.__metadata__


# The testing API


def testing_api() -> str:
    from fairlead.base.dialect import DIALECTS
    from fairlead.codec.types.builtin import BuiltinTypes
    from fairlead.codec.types.descriptions import Texts
    from fairlead.resources.registry import Resources

    dialect = DIALECTS["kubernetes"]
    types, texts = BuiltinTypes(dialect), Texts(dialect)
    resources = Resources(dialect, types)
    before = set(resources.group_versions())
    resources.read(
        (Path(fairlead.__file__).parent / "api" / "testing" / "powers.table").read_text()
    )
    (group,) = set(resources.group_versions()) - before
    structs = types.group_version("testing/v1")
    rows = []
    for one in group.resources.values():
        for resource in (one, *one.subresources.values()):
            name = f"{one.name}/NAME/{resource.subresource}" if resource is not one else one.name
            said = texts.of_type(structs[resource.kind])
            rows.append((f"`{name}`", resource.kind, ", ".join(resource.verbs), said))
    return page(
        "The testing API",
        f"The group `{group.api_version}`, served with `--testing`: powers of tests, for any",
        "language. Admins may use it, and users with a role that allows it.",
        "[Faults, clock, snapshots](../how-to/powers.md) shows how to use it from Python.",
        "",
        *table(("resource", "kind", "verbs", ""), rows),
        *(line for struct in structs.values() for line in _type_lines(struct, texts)),
    )


def _type_lines(struct: Struct, texts: Texts) -> Iterator[str]:
    shown = [field for field in struct.fields.values() if field.name not in _COMMON]
    if shown and not struct.name.endswith("List"):
        yield from (f"## {struct.name}", "", texts.of_type(struct), "")
        yield from table(
            ("field", "type", ""),
            ((f"`{one.name}`", _type(one.type), texts.of_field(struct, one.name)) for one in shown),
        )


_COMMON = ("metadata", "apiVersion", "kind")


def _type(type: Any) -> str:
    from fairlead.codec.types.model import ListOf, MapOf, Struct

    if isinstance(type, ListOf):
        return f"list of {_type(type.element)}"
    if isinstance(type, MapOf):
        return f"map of {_type(type.element)}"
    if isinstance(type, Struct):
        return f"[{type.name}](#{type.name.lower()})"
    return str(type.name)


MADE: dict[str, Callable[[], str]] = {
    "commands": commands,
    "dialects": dialects,
    "flags": flags,
    "metrics": metrics,
    "served": served,
    "testing-api": testing_api,
}


def main() -> int:
    text = README.read_text()
    if BEGIN not in text or END not in text:
        print(f"{README} has no place for the flags", file=sys.stderr)
        return 1
    README.write_text(with_most_used_flags(text))
    for name, make in MADE.items():
        (PAGES / f"{name}.md").write_text(make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
