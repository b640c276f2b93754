"""Reads `--tracing-config-file`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from fairlead.codec.configuration_files import (
    ConfigurationError,
    ConfigurationReader,
    Form,
    Section,
    load_section,
    versions,
)
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates

FLAG = "tracing-config-file"
GATE = "APIServerTracing"
_KIND, _GROUP = "TracingConfiguration", "apiserver.config.@"
_ALPHA, _ALL = ("v1alpha1",), ("v1", "v1beta1", "v1alpha1")
_DEFAULT_ENDPOINT = "localhost:4317"
_DEFAULT_PORT = 4317
_MAX_RATE = 1_000_000
_HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:/@\s]+)(?::(\d{1,5}))?")


class Tracing(NamedTuple):
    """The URL of the gRPC server that gets the spans, and how many requests in a million are
    sampled."""

    url: str
    rate: int


def read_tracing(file: Path, types: BuiltinTypes, gates: Gates) -> Tracing:
    """Read the file; raises ConfigurationError."""
    section = load_section(file, FLAG)
    if not gates[GATE]:
        raise ConfigurationError(f"--{FLAG}: the feature gate {GATE} is off")
    names = _ALL if gates["TrustedTraceContext"] else _ALPHA
    form = Form(_KIND, versions(_KIND, _GROUP, *names))
    section = ConfigurationReader(types, __file__).section(form, section)
    rate = section.value.get("samplingRatePerMillion") or 0
    if not 0 <= rate <= _MAX_RATE:
        raise section.error("samplingRatePerMillion", f"{rate} is not from 0 to {_MAX_RATE}")
    return Tracing(_url(section, section.value.get("endpoint") or _DEFAULT_ENDPOINT), rate)


def _url(section: Section, endpoint: str) -> str:
    """The URL of an endpoint in gRPC's notation: `host:port`, `dns://[authority]/host:port`,
    `unix:///path` or `unix-abstract:///name`."""
    scheme, separator, rest = endpoint.partition("://")
    if not separator:
        scheme, rest = "dns", endpoint.removeprefix("dns:")
    elif scheme == "dns":
        rest = rest.partition("/")[2] if "/" in rest else rest
    if scheme in ("unix", "unix-abstract"):
        if not rest.strip("/") or (scheme == "unix" and not rest.startswith("/")):
            raise section.error("endpoint", f'"{endpoint}" has no path')
        return f"{scheme}://{rest}"
    if scheme != "dns":
        reason = f'"{endpoint}" is not host:port, dns://, unix:// or unix-abstract://'
        raise section.error("endpoint", f"{reason}; spans are sent by OTLP over gRPC")
    match = _HOST_AND_PORT.fullmatch(rest)
    port = int(match[2] or _DEFAULT_PORT) if match is not None else 0
    if match is None or not 0 < port < 65536:
        raise section.error("endpoint", f'"{endpoint}" is not host:port')
    return f"http://{match[1]}:{port}"
