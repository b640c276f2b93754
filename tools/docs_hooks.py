"""What `mkdocs build` checks beside links: pages load nothing from another host."""

from __future__ import annotations

import re
from typing import Any

# What a browser fetches by itself; a link that people may follow is none of it.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?(?P<source>[^"' >]+)"""
    r"""|<link\b[^>]*?\bhref=["']?(?P<link>[^"' >]+)"""
    r"""|url\(["']?(?P<style>[^"')]+)"""
)


def foreign(page: str) -> list[str]:
    """Addresses on other hosts that a page has the browser load."""
    found = (
        match["source"] or match["link"] or match["style"] for match in _FETCHED.finditer(page)
    )
    return [one for one in found if re.match(r"(?:[a-z]+:)?//", one)]


def on_post_page(output: str, page: Any, **_: Any) -> str:
    if found := foreign(output):
        raise SystemExit(f"{page.file.src_uri} loads {', '.join(found)}")
    return output
