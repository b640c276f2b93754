"""`config set-credentials`: creates or changes a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.commands.config.files import Files, add_words, content_of, only_word, path_from
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation

Fields = dict[str, Any]

_VALUES = {
    "token": ("TOKEN", "bearer token"),
    "username": ("NAME", "name for basic authentication"),
    "password": ("PASSWORD", "password for basic authentication"),
    "client-certificate": ("FILE", "certificate of the user"),
    "client-key": ("FILE", "key of the certificate"),
    "auth-provider": ("NAME", "auth provider, such as oidc"),
    "exec-command": ("COMMAND", "credential plugin"),
    "exec-api-version": ("VERSION", "API version of the plugin's answer"),
    "exec-interactive-mode": (
        "MODE",
        "whether the plugin may prompt: Never, IfAvailable or Always",
    ),
    "exec-install-hint": ("TEXT", "shown when the plugin is not installed"),
}
_REPEATED = {
    "auth-provider-arg": ("KEY=VALUE", "setting of the auth provider; KEY- removes it"),
    "exec-arg": ("WORD", "argument of the plugin"),
    "exec-env": ("NAME=VALUE", "environment variable of the plugin; NAME- removes it"),
}
_FILES = ("client-certificate", "client-key")
_BASIC = ("username", "password")


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")
    for name, (metavar, text) in _VALUES.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    for name, (metavar, text) in _REPEATED.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text, action="append", default=[])
    parser.add_switch("--embed-certs", help="embed the content of the files")
    parser.add_switch(
        "--exec-provide-cluster-info",
        default=None,
        help="pass the cluster's settings to the plugin",
    )


async def run(invocation: Invocation) -> int:
    options, name = invocation.options, only_word(invocation)
    _check(options)
    files = Files(invocation)
    file_fields = _file_fields(files, name, options)

    def change(fields: Fields) -> None:
        for field, new_fields in file_fields.items():
            fields.pop(field, None)
            fields.pop(f"{field}-data", None)
            fields.update(new_fields)
        _change_method(fields, options)
        _change_provider(fields, options)
        _change_plugin(fields, options)

    files.set("users", name, change)
    invocation.screen.print(f'User "{name}" set.')
    return 0


def _check(options: Options) -> None:
    methods = [
        *(["--token"] if options.token else []),
        *(["--username/--password"] if options.username or options.password else []),
    ]
    if len(methods) > 1:
        raise CommandFailed(
            f"error: a user has one way to sign in, and these are several: {', '.join(methods)}"
        )
    if options.embed_certs and not (options.client_certificate or options.client_key):
        raise CommandFailed(
            "error: you must specify a --client-certificate or --client-key to embed"
        )


def _file_fields(files: Files, name: str, options: Options) -> Mapping[str, dict[str, str]]:
    """For each file flag given, the fields to write: the content, the path, or none for an empty
    path."""
    by_field: dict[str, dict[str, str]] = {}
    for field in _FILES:
        path = getattr(options, field.replace("-", "_"))
        if path and options.embed_certs:
            by_field[field] = {f"{field}-data": content_of(path, field)}
        elif path is not None:
            by_field[field] = {field: path_from(files, "users", name, path)} if path else {}
    return by_field


def _change_method(fields: Fields, options: Options) -> None:
    """Set token or username and password; a token removes username and password, and they remove a
    token."""
    values = {field: getattr(options, field) for field in ("token", *_BASIC)}
    if values["token"]:
        for field in _BASIC:
            fields.pop(field, None)
    elif any(values[field] for field in _BASIC):
        fields.pop("token", None)
    for field, value in values.items():
        if value:
            fields[field] = value
        elif value is not None:
            fields.pop(field, None)


def _change_provider(fields: Fields, options: Options) -> None:
    provider = _object(fields, "auth-provider")
    if options.auth_provider is not None:
        if not options.auth_provider:
            fields.pop("auth-provider", None)
            return
        if provider is None or provider.get("name") != options.auth_provider:
            provider = {"config": None, "name": options.auth_provider}
        fields["auth-provider"] = provider
    if provider is not None and options.auth_provider_arg:
        config = dict(provider.get("config") or {})
        for key, value in _settings(options.auth_provider_arg, "auth-provider-arg"):
            if value is None:
                config.pop(key, None)
            else:
                config[key] = value
        provider["config"] = config


def _change_plugin(fields: Fields, options: Options) -> None:
    plugin = _object(fields, "exec")
    if options.exec_command is not None:
        if not options.exec_command:
            fields.pop("exec", None)
            return
        plugin = plugin or {"args": None, "env": None, "provideClusterInfo": False}
        plugin["command"] = options.exec_command
        fields["exec"] = plugin
    if plugin is None:
        return
    values = {
        "apiVersion": options.exec_api_version,
        "interactiveMode": options.exec_interactive_mode,
        "installHint": options.exec_install_hint,
        "provideClusterInfo": options.exec_provide_cluster_info,
        "args": options.exec_arg or None,
    }
    plugin.update({field: value for field, value in values.items() if value is not None})
    if options.exec_env:
        variables = {
            variable["name"]: variable.get("value", "") for variable in plugin.get("env") or ()
        }
        for key, value in _settings(options.exec_env, "exec-env"):
            if value is None:
                variables.pop(key, None)
            else:
                variables[key] = value
        plugin["env"] = [{"name": key, "value": value} for key, value in variables.items()] or None


def _object(fields: Fields, name: str) -> Fields | None:
    value = fields.get(name)
    return value if isinstance(value, dict) else None


def _settings(texts: list[str], flag: str) -> list[tuple[str, str | None]]:
    """Parse KEY=VALUE, and KEY- with value None for removal; raises CommandFailed."""
    settings: list[tuple[str, str | None]] = []
    for text in texts:
        key, sign, value = text.partition("=")
        if sign and key:
            settings.append((key, value))
        elif text.endswith("-") and len(text) > 1:
            settings.append((text[:-1], None))
        else:
            raise CommandFailed(f"error: invalid argument {text!r} for --{flag}: use KEY=VALUE")
    return settings
