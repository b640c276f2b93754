"""Command-line flags of signing: CA files per signer, and the maximum lifetime."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.controllers.certificates.authority import SigningAuthority, SigningFileError

_ALL = "cluster-signing"
_YEAR = 365 * 24 * 3600.0


class _Kind(NamedTuple):
    """A built-in signer in the flags. `words` are its spellings in flag names; the help shows the
    first. `of` returns the signer's name in a dialect."""

    words: tuple[str, ...]
    of: Callable[[Dialect], str]

    def flags(self, which: str) -> list[str]:
        return [f"--{_ALL}-{word}-{which}-file" for word in self.words]


_KINDS = (
    _Kind(("kube-apiserver-client", "api-server-client"), lambda dialect: dialect.signer_client),
    _Kind(("kubelet-client", "node-agent-client"), lambda dialect: dialect.signer_client_node),
    _Kind(("kubelet-serving", "node-agent-serving"), lambda dialect: dialect.signer_node_serving),
    _Kind(("legacy-unknown",), lambda dialect: dialect.signer_legacy),
)


class SigningFlagError(ValueError):
    """Invalid signing flags; the text names flag and file."""


def add_signing_flags(parser: argparse.ArgumentParser, duration: Callable[[str], float]) -> None:
    """`duration` parses texts such as `24h`."""
    flag = parser.add_argument_group("Signing of certificates").add_argument
    flag(
        f"--{_ALL}-cert-file",
        type=Path,
        metavar="FILE",
        help="certificate of the CA that signs for all built-in signers; by default our own",
    )
    flag(f"--{_ALL}-key-file", type=Path, metavar="FILE", help="its key")
    for kind in _KINDS:
        texts = ("cert", f"the same for {kind.words[0]} alone"), ("key", "its key")
        for which, text in texts:
            flag(*kind.flags(which), type=Path, metavar="FILE", help=text)
    flag(
        f"--{_ALL}-duration",
        type=_positive(duration),
        default=_YEAR,
        metavar="DURATION",
        help="maximum validity of signed certificates",
    )


def _positive(duration: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        seconds = duration(text)
        if seconds < 1 or seconds > 100 * _YEAR:
            raise argparse.ArgumentTypeError(f"{text!r} is not a lifetime of certificates")
        return seconds

    return read


def _flag_path(options: argparse.Namespace, flag: str, which: str) -> Path | None:
    path: Path | None = getattr(options, f"{flag}-{which}-file".replace("-", "_"))
    return path


def check_signing_flags(options: argparse.Namespace) -> None:
    """Check flags without opening files; raises SigningFlagError."""
    general = _pair(options, _ALL)
    for kind in _KINDS:
        flag = f"{_ALL}-{kind.words[0]}"
        if _pair(options, flag) is not None and general is not None:
            raise SigningFlagError(f"--{_ALL}-cert-file and --{flag}-cert-file exclude each other")


def _pair(options: argparse.Namespace, flag: str) -> tuple[Path, Path] | None:
    certificate, key = _flag_path(options, flag, "cert"), _flag_path(options, flag, "key")
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise SigningFlagError(f"--{flag}-cert-file and --{flag}-key-file go together")
    return certificate, key


def signing_authorities(
    options: argparse.Namespace, dialect: Dialect, own: tuple[Path, Path]
) -> Mapping[str, SigningAuthority]:
    """The CA of each signer; `own` is the default. Raises SigningFlagError."""
    authorities: dict[tuple[Path, Path], SigningAuthority] = {own: SigningAuthority(*own)}
    by_signer: dict[str, SigningAuthority] = {}
    for kind in _KINDS:
        flag = f"{_ALL}-{kind.words[0]}"
        pair = _pair(options, flag)
        if pair is None:
            flag, pair = _ALL, _pair(options, _ALL) or own
        if pair not in authorities:
            authorities[pair] = SigningAuthority(*pair)
            _load(authorities[pair], flag)
        by_signer[kind.of(dialect)] = authorities[pair]
    return by_signer


def _load(authority: SigningAuthority, flag: str) -> None:
    try:
        authority.load()
    except SigningFileError as error:
        raise SigningFlagError(f"--{flag}-cert-file, --{flag}-key-file: {error}") from None
