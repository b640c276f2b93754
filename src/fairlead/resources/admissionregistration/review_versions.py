"""The review versions that a webhook supports."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.codec.types.names import dns_1035_label
from fairlead.resources.causes import Causes
from fairlead.resources.go_values import go_list

# The versions that this server can send.
KNOWN = ("v1", "v1beta1")


def knows_one(versions: Iterable[str] | None) -> bool:
    """Whether we can send one of the versions; also True for a webhook without versions."""
    listed = list(versions or ())
    return not listed or any(version in KNOWN for version in listed)


def check_review_versions(
    versions: list[str] | None, path: str, causes: Causes, *, missing: str, known: bool = True
) -> None:
    """`missing` is the message if there are none. `known`: require a version that we can send."""
    if not versions:
        causes.required(path, missing)
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        here = f"{path}[{index}]"
        if version in seen:
            causes.invalid(here, version, "duplicate version")
        else:
            seen.add(version)
            causes.invalid_each(here, version, dns_1035_label(version))
    if known and not knows_one(versions):
        detail = f"must include at least one of {', '.join(KNOWN)}"
        causes.invalid(path, go_list("string", versions), detail)
