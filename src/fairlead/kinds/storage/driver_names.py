"""The names of volume drivers."""

from __future__ import annotations

from fairlead.kinds.causes import Causes
from fairlead.schema.names import dns_subdomain

LONGEST_NAME = 63


def check_driver_name(name: str, path: str, causes: Causes) -> None:
    """A DNS name in any case, at most 63 characters; needed."""
    if not name:
        causes.required(path)
    if len(name) > LONGEST_NAME:
        causes.too_long(path, LONGEST_NAME)
    causes.invalid_each(path, name, dns_subdomain(name.lower()))
