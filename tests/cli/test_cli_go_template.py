"""`-o go-template`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Commands


@pytest.fixture
def maps(fairlead: Commands) -> Commands:
    """A namespace with the ConfigMap `settings` and its key `a`."""
    fairlead.space.secrets.create("settings", data={"a": "aGk="})
    return fairlead


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{.metadata.name}}", "settings"),
        ("{{range $key, $value := .data}}{{$key}}={{$value}};{{end}}", "a=aGk=;"),
        ("{{base64decode .data.a}}", "hi"),
        ('{{exists . "data" "a"}} {{exists . "data" "b"}}', "true false"),
        ("{{.data.nothing}}", "<no value>"),
        ('{{if eq .kind "Secret"}}yes{{else}}no{{end}}', "yes"),
        ('{{print 1 2 "a"}} {{printf "%5s|" "b"}} {{len .data}}', "1 2a     b| 1"),
        ('{{html "<a>"}} {{urlquery "a b"}}', "&lt;a&gt; a+b"),
        ('{{define "n"}}<{{.}}>{{end}}{{template "n" .kind}}', "<Secret>"),
        ('{{template "later" .}}{{define "later"}}{{.kind}}{{end}}', "Secret"),
        ('{{block "n" .metadata}}{{.name}} {{$.name}}{{end}}', "settings settings"),
        ('{{define "n"}}{{.}}{{end}}{{template "n"}}', "<no value>"),
        ("{{'a'}} {{'\\''}}", "97 39"),
    ],
)
def test_templates_are_filled_in(maps: Commands, template: str, text: str) -> None:
    assert maps("get", "secret", "settings", "-o", f"go-template={template}") == text


def test_a_template_may_be_in_a_file_or_in_a_flag(maps: Commands, tmp_path: Path) -> None:
    file = tmp_path / "names"
    file.write_text('{{range .items}}{{.metadata.name}}{{"\\n"}}{{end}}')
    assert "settings\n" in maps("get", "secrets", "-o", f"go-template-file={file}")
    out = maps("get", "secret", "settings", "-o", "go-template", "--template={{.kind}}")
    assert out == "Secret"


def test_commands_that_write_print_their_result_with_it(fairlead: Commands) -> None:
    out = fairlead("create", "configmap", "x", "-o", "go-template={{.metadata.name}}!")
    assert out == "x!"
    assert fairlead("label", "configmap", "x", "a=b", "--template={{.metadata.labels.a}}") == "b"


@pytest.mark.parametrize("form", ["go-template={{.no}}", "jsonpath={.no}"])
def test_missing_keys_can_be_refused(maps: Commands, form: str) -> None:
    words = ("get", "secret", "settings", "-o", form)
    assert maps.run(*words).code == 0
    ran = maps.run(*words, "--allow-missing-template-keys=false")
    assert (ran.code, ran.out) == (1, "")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("", "the template is missing"),
        ("{{.kind", "the template is wrong"),
        ("{{nothing .}}", "the template is wrong"),
        ("{{.metadata.name.more}}", "the template does not fit the object"),
        ('{{template "none"}}', 'the template "none" is not defined'),
        ('{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}', "nested too deeply"),
        ('{{$x := 1}}{{block "a" .}}{{$x}}{{end}}', "undefined variable $x"),
        ('{{if .}}{{define "a"}}{{end}}{{end}}', "stands outside"),
        ("{{template .kind}}", "needs the name of a template in quotes"),
    ],
)
def test_wrong_templates_are_refused(maps: Commands, template: str, problem: str) -> None:
    ran = maps.run("get", "secret", "settings", "-o", f"go-template={template}")
    assert (ran.code, problem in ran.errors) == (1, True)
