"""The web proxy that the environment asks for."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def proxy_of_environment(url: str) -> str:
    """The proxy for a URL, or nothing; this machine is never reached through one."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in LOOPBACK or proxy_bypass(host):
        return ""
    return getproxies().get(parts.scheme, "")
