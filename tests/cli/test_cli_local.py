"""`--local`: objects of files are changed without a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import run_words

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: c, image: one}]}}}
"""
_CONTAINER = "-o=jsonpath={.spec.template.spec.containers[0]"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with a Deployment, where no server is known."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    path = tmp_path / "web.yaml"
    path.write_text(_DEPLOYMENT)
    return str(path)


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("set", "image", "c=two"), "deployment.apps/web image updated\n"),
        (("set", "image", "c=two", f"{_CONTAINER}.image}}"), "two"),
        (("set", "env", "A=b", f"{_CONTAINER}.env[0]}}"), '{"name":"A","value":"b"}'),
        (("label", "a=b"), "deployment.apps/web labeled\n"),
        (("annotate", "a=b", "-o=jsonpath={.metadata.annotations.a}"), "b"),
        (("patch", "-p", '{"spec": {"paused": true}}', "-o=jsonpath={.spec.paused}"), "true"),
    ],
    ids=lambda words: " ".join(words[:2]) if isinstance(words, tuple) else "",
)
def test_objects_of_files_are_changed_without_a_server(
    file: str, words: tuple[str, ...], out: str
) -> None:
    assert run_words(*words, "-f", file, "--local") == (0, out, "")


def test_an_object_of_the_server_cannot_be_changed_locally(file: str) -> None:
    ran = run_words("label", "deployment", "web", "a=b", "--local")
    assert (ran.code, "name them with -f" in ran.errors) == (1, True)
