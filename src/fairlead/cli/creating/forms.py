"""All forms of `create`, and which one the words of a command mean."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.connecting import VALUED
from fairlead.cli.creating import access, data, policies, services, tokens, workloads
from fairlead.cli.creating.form import Form

FORMS: dict[str, Form] = {
    **policies.FORMS,
    **data.FORMS,
    **workloads.FORMS,
    **services.FORMS,
    **access.FORMS,
    **tokens.FORMS,
}
GROUPS = frozenset(name.partition(" ")[0] for name in FORMS if " " in name)
_OWN = "form_"
_SHORT = {
    "ns": "namespace",
    "cm": "configmap",
    "deploy": "deployment",
    "cj": "cronjob",
    "svc": "service",
    "ing": "ingress",
    "sa": "serviceaccount",
    "resourcequota": "quota",
    "pc": "priorityclass",
    "pdb": "poddisruptionbudget",
}


def form_of(words: Sequence[str], valued: Sequence[str]) -> str:
    """The name of the form that the first words say, without flags; empty for none. `valued` are
    flags that take the next word as their value."""
    plain = _plain(words, {*valued, *VALUED})
    if not plain:
        return ""
    first = _SHORT.get(plain[0], plain[0])
    whole = f"{first} {plain[1]}" if first in GROUPS and len(plain) > 1 else first
    return whole if whole in FORMS or whole in GROUPS else ""


def _plain(words: Sequence[str], valued: set[str]) -> list[str]:
    found: list[str] = []
    skipped = False
    for word in words:
        if word == "--":
            break
        if skipped:
            skipped = False
        elif word.startswith("-"):
            skipped = word in valued
        else:
            found.append(word)
    return found


def add_form_flags(parser: ArgumentReader, form: Form) -> None:
    """`options_of` finds their values again: some have names that flags of connections have too,
    which cannot be given then."""
    for flag in form.flags:
        names = [f"--{flag.name.replace('_', '-')}"]
        if names[0] in VALUED:
            parser.set_defaults(**{flag.name: None})
        names += [flag.short] if flag.short else []
        dest = _OWN + flag.name
        if flag.switch:
            parser.add_switch(*names, dest=dest, help=flag.help)
        elif flag.many:
            parser.add_argument(
                *names, dest=dest, metavar=flag.value, action="append", default=[], help=flag.help
            )
        else:
            parser.add_argument(
                *names, dest=dest, metavar=flag.value, default=flag.default, help=flag.help
            )


def options_of(form: Form, options: Namespace) -> Namespace:
    """The options as a form sees them, with its flags by their names."""
    own = {flag.name: getattr(options, _OWN + flag.name) for flag in form.flags}
    return Namespace(**{**vars(options), **own})
