"""`config set-cluster`: creates or changes a cluster."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, content_of, only_word, path_from
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation

_TEXTS = {
    "server": ("URL", "URL of the server"),
    "tls-server-name": ("NAME", "name that the server's certificate must be valid for"),
    "proxy-url": ("URL", "URL of a proxy to the server"),
}
_CA, _INSECURE = "certificate-authority", "insecure-skip-tls-verify"


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")
    for name, (metavar, text) in _TEXTS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    parser.add_argument(f"--{_CA}", metavar="FILE", help="CA bundle for the server's certificate")
    parser.add_switch("--embed-certs", help="embed the content of the file")
    parser.add_switch(f"--{_INSECURE}", default=None, help="do not verify the server's certificate")


async def run(invocation: Invocation) -> int:
    options, name = invocation.options, only_word(invocation)
    _check(options.certificate_authority, options.insecure_skip_tls_verify, options.embed_certs)
    files = Files(invocation)
    values = {field: getattr(options, field.replace("-", "_")) for field in _TEXTS}
    authority = _authority(files, name, options.certificate_authority, options.embed_certs)

    def change(fields: dict[str, Any]) -> None:
        fields.setdefault("server", "")
        if values["server"] is not None:
            fields.pop("tls-server-name", None)
        fields.update({field: value for field, value in values.items() if value is not None})
        if options.insecure_skip_tls_verify is not None:
            fields[_INSECURE] = options.insecure_skip_tls_verify
            if options.insecure_skip_tls_verify:
                fields.pop(_CA, None)
                fields.pop(f"{_CA}-data", None)
        if authority is not None:
            for field in (_CA, f"{_CA}-data", _INSECURE):
                fields.pop(field, None)
            fields.update(authority)
        _drop_empty(fields)

    files.set("clusters", name, change)
    invocation.screen.print(f'Cluster "{name}" set.')
    return 0


def _check(authority: str | None, insecure: bool | None, embed: bool) -> None:
    if insecure and authority:
        raise CommandFailed(
            "error: --insecure-skip-tls-verify trusts everybody: leave out the authority"
        )
    if embed and not authority:
        raise CommandFailed("error: you must specify a --certificate-authority to embed")


def _authority(files: Files, name: str, path: str | None, embed: bool) -> dict[str, str] | None:
    """The fields of the certificate authority; none for an empty path, None for no change."""
    if path is None:
        return None
    if not path:
        return {}
    if embed:
        return {f"{_CA}-data": content_of(path, _CA)}
    return {_CA: path_from(files, "clusters", name, path)}


def _drop_empty(fields: dict[str, Any]) -> None:
    for field in ("tls-server-name", "proxy-url", _INSECURE):
        if not fields.get(field):
            fields.pop(field, None)
