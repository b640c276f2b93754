"""A check of `mkdocs build`: pages load nothing from another host."""

from __future__ import annotations

import re
from typing import Any

# URLs that a browser loads automatically; links are not among them.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?(?P<source>[^"' >]+)"""
    r"""|<link\b[^>]*?\bhref=["']?(?P<link>[^"' >]+)"""
    r"""|url\(["']?(?P<style>[^"')]+)"""
)


def foreign(page: str) -> list[str]:
    """Return the URLs on other hosts that a page makes the browser load."""
    urls = (match["source"] or match["link"] or match["style"] for match in _FETCHED.finditer(page))
    return [url for url in urls if re.match(r"(?:[a-z]+:)?//", url)]


def on_post_page(output: str, page: Any, **_: Any) -> str:
    if urls := foreign(output):
        raise SystemExit(f"{page.file.src_uri} loads {', '.join(urls)}")
    return output
