"""Joins the console's modules into one script.

A browser that does not trust the server's certificate caches nothing, so that every module costs a
request at every load. In the joined script each module is a function, which is called when the
module is imported first. Its imports become constants, its exports an object:

    import { h } from "../core/dom.js";      const { h } = $need("core/dom.js");
    export function show() { … }             function show() { … }
                                             return { show };

Works line by line and relies on how our scripts are written (a test checks that): imports and
exports begin a line, only functions, classes and constants are exported, and static imports have no
cycles.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import (?:\* as (\w+)|(\{[^}]*\})) from "(\.[^"]+)";$', re.MULTILINE)
_LATER = re.compile(r'\bimport\("(\.[^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\b\*?|class|const) (\w+))", re.MULTILINE)
_HEAD = """\
const $made = {};
const $need = (name) => ($made[name] ??= $modules[name]());
const $later = async (name) => $need(name);
const $modules = {
"""


def joined(scripts: Mapping[str, bytes], first: str) -> bytes:
    """Return one script that does what the module `first` does. The keys are paths."""
    modules = (_function(name, content.decode()) for name, content in scripts.items())
    return "".join((_HEAD, *modules, f'}};\n$need("{first}");\n')).encode()


def _function(name: str, module: str) -> str:
    """Return a module as an entry of `$modules`."""
    folder = posixpath.dirname(name)

    def path(target: str) -> str:
        return posixpath.normpath(posixpath.join(folder, target))

    def constants(match: re.Match[str]) -> str:
        whole, names, target = match.groups()
        return f'const {whole or names.replace(" as ", ": ")} = $need("{path(target)}");'

    exports = ", ".join(_EXPORT.findall(module))
    body = _IMPORT.sub(constants, _EXPORT.sub("", module))
    body = _LATER.sub(lambda match: f'$later("{path(match[1])}")', body)
    return f'"{name}": () => {{\n{body}return {{ {exports} }};\n}},\n'
