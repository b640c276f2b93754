"""The table of all forms of `create`, and the choice of a form by the words of the command."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.connection_flags import VALUED
from fairlead.cli.create import access, data, policies, services, tokens, workloads
from fairlead.cli.create.form import Form

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
    """The name of the form given by the first words that are not flags; empty if there is none.
    `valued` are flags whose value is the next word."""
    plain = _plain(words, {*valued, *VALUED})
    if not plain:
        return ""
    first = _SHORT.get(plain[0], plain[0])
    full_name = f"{first} {plain[1]}" if first in GROUPS and len(plain) > 1 else first
    return full_name if full_name in FORMS or full_name in GROUPS else ""


def _plain(words: Sequence[str], valued: set[str]) -> list[str]:
    plain: list[str] = []
    skipped = False
    for word in words:
        if word == "--":
            break
        if skipped:
            skipped = False
        elif word.startswith("-"):
            skipped = word in valued
        else:
            plain.append(word)
    return plain


def add_form_flags(parser: ArgumentReader, form: Form) -> None:
    """Add the flags of the form with a prefixed `dest`, which `options_of` maps back. A flag with
    the name of a connection flag replaces that flag."""
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


def options_of(form: Form, options: Options) -> Options:
    """The options with the form's flags under their own names."""
    own = {flag.name: getattr(options, _OWN + flag.name) for flag in form.flags}
    return Options(**{**vars(options), **own})
