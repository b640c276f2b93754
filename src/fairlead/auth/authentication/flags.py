"""The command-line flags of authentication."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fairlead.resources.gates import parse_bool

VERSIONS = ("v1beta1", "v1")


def boolean(text: str) -> bool:
    value = parse_bool(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return value


def listed(text: str) -> list[str]:
    """Parse a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def pair(text: str) -> tuple[str, str]:
    """Parse a `key=value` pair."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not a key=value pair")
    return key, value


def add_authentication_flags(
    parser: argparse.ArgumentParser, duration: Callable[[str], float]
) -> None:
    """Add all authentication flags; `duration` parses texts such as `2m`."""
    group = parser.add_argument_group
    _add_common(group("Authentication"))
    _add_service_accounts(group("Service accounts"), duration)
    _add_oidc(group("OpenID Connect"))
    _add_webhook(group("Token webhook"), duration)
    _add_proxy(group("Authenticating proxy"))


def switch(parser: argparse._ActionsContainer, name: str, default: bool | None, text: str) -> None:
    parser.add_argument(
        name, type=boolean, nargs="?", const=True, default=default, metavar="BOOL", help=text
    )


def _list(parser: argparse._ActionsContainer, name: str, metavar: str, text: str) -> None:
    """Add a comma-separated flag that may be repeated; the default is an empty list."""
    parser.add_argument(name, type=listed, action="extend", default=[], metavar=metavar, help=text)


def _add_common(parser: argparse._ActionsContainer) -> None:
    flag = parser.add_argument
    flag(
        "--client-ca-file",
        type=Path,
        help="CA bundle for client certificates, besides the server's own CA",
    )
    flag(
        "--authentication-config",
        type=Path,
        metavar="FILE",
        help="AuthenticationConfiguration file with issuers of tokens and anonymous requests, in"
        " place of --oidc-*; reloaded when it changes; from 1.36 on",
    )
    flag("--token-auth-file", type=Path, help="CSV file of static bearer tokens")
    switch(
        parser,
        "--anonymous-auth",
        None,
        "accept requests without credentials as anonymous; on unless everything is allowed",
    )
    switch(parser, "--enable-bootstrap-token-auth", False, "accept bootstrap tokens")
    _list(parser, "--api-audiences", "NAMES", "audiences of this API; by default the issuer")


def _add_service_accounts(
    parser: argparse._ActionsContainer, duration: Callable[[str], float]
) -> None:
    flag = parser.add_argument
    flag(
        "--service-account-key-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="keys that verify service account tokens, besides the signing key",
    )
    flag(
        "--service-account-signing-key-file",
        type=Path,
        metavar="FILE",
        help="key that signs service account tokens, in place of the generated one",
    )
    flag(
        "--service-account-issuer",
        action="append",
        default=[],
        metavar="URL",
        help="issuer of service account tokens; of further ones tokens are accepted",
    )
    flag(
        "--service-account-jwks-uri",
        default="",
        metavar="URL",
        help="URL of the keys that verify service account tokens",
    )
    switch(parser, "--service-account-lookup", True, "refuse tokens whose Secret was deleted")
    switch(
        parser,
        "--service-account-extend-token-expiration",
        True,
        "extend the lifetime of the tokens that Pods get by default",
    )
    flag(
        "--service-account-max-token-expiration",
        type=duration,
        default=0.0,
        metavar="DURATION",
        help="maximum lifetime of a requested token; 0 for no limit",
    )


def _add_oidc(parser: argparse._ActionsContainer) -> None:
    flag = parser.add_argument
    flag(
        "--oidc-issuer-url", default="", metavar="URL", help="URL of the issuer of ID tokens, https"
    )
    flag(
        "--oidc-client-id",
        default="",
        metavar="ID",
        help="client ID that ID tokens must be issued for",
    )
    flag("--oidc-username-claim", default="sub", metavar="CLAIM", help="claim with the user name")
    flag(
        "--oidc-username-prefix",
        default="",
        metavar="PREFIX",
        help="prefix of user names; - for none, by default the issuer unless the claim is email",
    )
    flag("--oidc-groups-claim", default="", metavar="CLAIM", help="claim with the groups")
    flag("--oidc-groups-prefix", default="", metavar="PREFIX", help="prefix of groups")
    flag(
        "--oidc-required-claim",
        type=pair,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="claim that an ID token must have",
    )
    flag(
        "--oidc-ca-file", type=Path, metavar="FILE", help="CA bundle for the provider's web server"
    )
    _list(
        parser,
        "--oidc-signing-algs",
        "NAMES",
        "accepted signature algorithms; by default RS256",
    )


def _add_webhook(parser: argparse._ActionsContainer, duration: Callable[[str], float]) -> None:
    flag = parser.add_argument
    flag(
        "--authentication-token-webhook-config-file",
        type=Path,
        metavar="FILE",
        help="client configuration of the service that reviews tokens",
    )
    flag(
        "--authentication-token-webhook-cache-ttl",
        type=duration,
        default=120.0,
        metavar="DURATION",
        help="how long its answers are cached",
    )
    flag(
        "--authentication-token-webhook-version",
        choices=VERSIONS,
        default=VERSIONS[0],
        help="API version of the reviews that are sent to it",
    )


def _add_proxy(parser: argparse._ActionsContainer) -> None:
    _list(parser, "--requestheader-username-headers", "NAMES", "headers with the user name")
    _list(parser, "--requestheader-uid-headers", "NAMES", "headers with the uid; from 1.36 on")
    _list(parser, "--requestheader-group-headers", "NAMES", "headers with groups")
    _list(parser, "--requestheader-extra-headers-prefix", "PREFIXES", "prefixes of extra headers")
    parser.add_argument(
        "--requestheader-client-ca-file",
        type=Path,
        metavar="FILE",
        help="CA bundle for the certificate of the authenticating proxy; without"
        " such a certificate the headers are ignored",
    )
    _list(
        parser,
        "--requestheader-allowed-names",
        "NAMES",
        "accepted common names of the proxy; by default any that its CA issued",
    )
