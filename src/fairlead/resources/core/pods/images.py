"""Names of container images, as far as the API needs to read them."""

from __future__ import annotations

import re

from fairlead.base.caches import remembered

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_STEP = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_IMAGE = re.compile(
    rf"\A(?P<name>{_DOMAIN}(?:/{_STEP})+)(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?\Z",
    re.ASCII,
)
_LONGEST_NAME = 255  # in full, with its registry and without tag and digest
_REGISTRY = "docker.io"
_IDENTIFIER = re.compile(r"\A[0-9a-f]{64}\Z")


def default_pull_policy(image: str) -> str:
    """`Always` for an image that may be another tomorrow: one tagged, or left to be, `latest`."""
    _, colon, tag = image.rpartition(":")
    if colon and tag != "latest" and "/" not in tag and "@" not in image:
        return "IfNotPresent"  # has another tag, or is no image
    return _default_pull_policy(image)


@remembered(longest=512)
def _default_pull_policy(image: str) -> str:
    match = _IMAGE.match(_with_registry(image))
    if match is None or len(match["name"]) > _LONGEST_NAME or _IDENTIFIER.match(image):
        return "IfNotPresent"
    tag = match["tag"] or ("" if match["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _with_registry(image: str) -> str:
    """An image that names no registry is one of the usual one."""
    first, _, rest = image.partition("/")
    named = bool(rest) and ("." in first or ":" in first or first == "localhost")
    registry, name = (first, rest) if named else (_REGISTRY, image)
    if registry == f"index.{_REGISTRY}":
        registry = _REGISTRY
    if registry == _REGISTRY and "/" not in name:
        name = f"library/{name}"
    return f"{registry}/{name}"
