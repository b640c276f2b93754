"""`config view`: shows the client configuration."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files
from fairlead.cli.commands.config.properties import ENTRIES, Kinds
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.flags import add_template_flags, choice_of
from fairlead.cli.output.printers import printer_for
from fairlead.client.access.exec_config import default_mode
from fairlead.client.access.files import SECTIONS, Configuration, Entry
from fairlead.wire.outgoing.client_config import ClientConfigError, pem_of

Fields = dict[str, Any]
_REDACTED, _OMITTED = "REDACTED", "DATA+OMITTED"
_SECRETS = {
    "certificate-authority-data": _OMITTED,
    "client-certificate-data": _OMITTED,
    "client-key-data": _OMITTED,
    "token": _REDACTED,
    "password": _REDACTED,
}
_PROVIDER_SECRETS = ("id-token", "refresh-token", "client-secret", "access-token")
_FILES = {
    "clusters": ("certificate-authority",),
    "users": ("client-certificate", "client-key"),
    "contexts": (),
}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="", help="yaml, json, jsonpath=TEMPLATE, …"
    )
    add_template_flags(parser)
    parser.add_without_effect("--show-managed-fields")
    parser.add_switch("--raw", help="include secrets and certificates")
    parser.add_switch("--minify", help="show only the parts that the current context uses")
    parser.add_switch("--flatten", help="include the content of referenced files")
    parser.add_switch("--merge", default=True, help="merge all configuration files")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if not options.merge and not options.kubeconfig:
        raise CommandFailed("error: --merge=false shows one file: name it with --kubeconfig")
    if not options.output and not options.template:
        options.output = "yaml"
    printer = printer_for(choice_of(options))
    configuration = Files(invocation).configuration
    if options.context:
        configuration.current_context = options.context
    if options.minify:
        minify(configuration)
    if options.flatten:
        flatten(configuration)
    if not options.raw and not options.flatten:
        redact(configuration)
    output = document(configuration)
    if options.output == "json":
        invocation.screen.print(
            json.dumps(output, indent=4, ensure_ascii=False)
        )  # keeps the field order
    else:
        invocation.screen.out.write(printer(output))
    return 0


# Prepares the configuration for output: reduced, flattened or redacted.


def document(configuration: Configuration) -> Fields:
    """The merged configuration as one file."""
    output: Fields = {
        "kind": "Config",
        "apiVersion": "v1",
        "preferences": configuration.preferences,
    }
    for section in ("clusters", "users", "contexts"):
        entries = configuration.entries[section]
        output[section] = [
            {"name": name, SECTIONS[section]: _output_value(entries[name].value, ENTRIES[section])}
            for name in sorted(entries)
        ] or None
    output["current-context"] = configuration.current_context
    if configuration.extensions:
        output["extensions"] = configuration.extensions
    return output


def _output_value(fields: Fields, kinds: Kinds) -> Any:
    plugin = fields.get("exec")
    if isinstance(plugin, dict):
        complete = {"args": None, "env": None, "provideClusterInfo": False, **plugin}
        if mode := default_mode(str(plugin.get("apiVersion"))):
            complete.setdefault("interactiveMode", mode)
        fields = {**fields, "exec": complete}
    return _ordered(fields, kinds)


def _ordered(value: Any, kind: Any) -> Any:
    """Known fields in the order of the schema, then unknown fields."""
    if not isinstance(value, dict) or not isinstance(kind, dict):
        return value
    names = dict.fromkeys((*kind, *value))
    return {name: _ordered(value[name], kind.get(name)) for name in names if name in value}


def minify(configuration: Configuration) -> None:
    """Keep only the current context with its cluster and user; raises CommandFailed."""
    name = configuration.current_context
    if not name:
        raise CommandFailed("error: --minify shows the current context, and there is none")
    context = configuration.entries["contexts"].get(name)
    if context is None:
        raise CommandFailed(f"error: cannot locate context {name}")
    configuration.entries["contexts"] = {name: context}
    for section in ("clusters", "users"):
        configuration.entries[section] = _only(
            configuration, section, context.value.get(SECTIONS[section])
        )


def _only(configuration: Configuration, section: str, name: Any) -> dict[str, Entry]:
    if not name:
        return {}
    entry = configuration.entries[section].get(name)
    if entry is None:
        raise CommandFailed(f"error: cannot locate {SECTIONS[section]} {name}")
    return {name: entry}


def flatten(configuration: Configuration) -> None:
    """Replace file names by the content of the files; raises CommandFailed."""
    for section, entries in configuration.entries.items():
        for entry in entries.values():
            for field in _FILES[section]:
                if entry.value.get(field):
                    _take_over(entry, field)


def _take_over(entry: Entry, field: str) -> None:
    if entry.value.get(f"{field}-data"):
        raise CommandFailed(
            "error: a file and its contents are given at once: one of them would be lost"
        )
    try:
        content = pem_of(entry.value, field, entry.directory)
    except ClientConfigError as error:
        raise CommandFailed(f"error: {error}") from None
    del entry.value[field]
    entry.value[f"{field}-data"] = b64encode(content).decode()


def redact(configuration: Configuration) -> None:
    """Replace secrets and certificates by placeholders."""
    for entries in configuration.entries.values():
        for entry in entries.values():
            _hide(entry.value, _SECRETS)
            provider = entry.value.get("auth-provider")
            config = provider.get("config") if isinstance(provider, dict) else None
            if isinstance(config, dict):
                _hide(config, dict.fromkeys(_PROVIDER_SECRETS, _REDACTED))


def _hide(fields: Fields, secrets: Mapping[str, str]) -> None:
    for name, mask in secrets.items():
        if fields.get(name):
            fields[name] = mask
