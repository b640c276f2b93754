"""The examples of docs/client.md run as printed."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from types import FunctionType

import pytest
from support.things import Space

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "client.md").read_text()
EXAMPLES = dict(re.findall(r"\n## (.+?)\n.*?```python\n(.*?)```", TEXT, re.DOTALL))
PRINTED = {
    "Objects": "{'greeting': 'good morning', 'to': 'you'}\n",
    "Changes": "ADDED watched\nDELETED watched\n",
    "A cache of objects": "default\nTrue\nTrue\n",
    "One of several leads": "I lead\n",
    "Without asyncio": "ADDED\n",
}


def test_every_section_has_its_example() -> None:
    assert set(EXAMPLES) == set(PRINTED)


@pytest.mark.parametrize("title", PRINTED)
def test_an_example_runs_as_printed(
    title: str,
    kubernetes: Space,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubernetes.server.data / "admin.kubeconfig"))
    code = compile(EXAMPLES[title], title, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = FunctionType(code, {})()
    if inspect.iscoroutine(result):
        asyncio.run(asyncio.wait_for(result, 30))
    assert PRINTED[title] in capsys.readouterr().out
