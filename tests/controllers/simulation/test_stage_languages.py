"""The expressions and templates of stages: what they find and write, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.codec.go_template.functions import LAZY
from fairlead.codec.go_template.renderer import render
from fairlead.codec.go_template.syntax import parse_template
from fairlead.codec.go_template.values import TemplateError
from fairlead.controllers.simulation.stages.expressions import StageError, jq_query
from fairlead.controllers.simulation.stages.template_functions import FUNCTIONS

OBJECT = {
    "metadata": {"name": "a", "labels": {"x/y": "1"}, "finalizers": ["f"]},
    "spec": {"size": 3, "list": ["p", "q"], "none": []},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]
    },
}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (".metadata.name", ["a"]),
        ('.metadata.labels["x/y"]', ["1"]),
        (".metadata.absent.deeper", []),
        ('.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]),
        (".status.conditions[].type", ["Ready", "Other"]),
        (".spec.list[-1], .spec.list[0:1]", ["q", ["p"]]),
        (".spec.size + 1 > 3 and (.spec.none | length == 0)", [True]),
        ('.spec.absent // "default"', ["default"]),
        ('if .spec.size >= 3 then "large" else "small" end', ["large"]),
        ('[.status.conditions[] | .type] | join(",")', ["Ready,Other"]),
        ('.status.conditions | any(.status == "False")', [True]),
        ('.metadata.name | test("^[ab]$")', [True]),
        (".spec.size[]", []),  # fails, which finds nothing
        (".spec.size[]?, .spec.size", [3]),
        ('.metadata | has("labels"), has("x")', [True, False]),
    ],
)
def test_a_jq_expression_finds(expression: str, found: list[Any]) -> None:
    assert jq_query(expression).results(OBJECT) == found


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("reduce .[] as $x (0; 1)", '"reduce" is not supported'),
        ("{a: 1}", "object construction is not supported"),
        ("$__loc__", "a variable is not supported"),
        ("frobnicate(1)", "the function frobnicate/1 is not supported"),
        (".a |", "unexpected end"),
        ("(" * 200, "nested too deeply"),
        (".a" * 500, "more than 400 parts"),
    ],
)
def test_what_is_no_supported_jq_expression_is_named(expression: str, reason: str) -> None:
    with pytest.raises(StageError, match=r".") as refusal:
        jq_query(expression)
    assert reason in str(refusal.value)


def test_a_jq_expression_has_a_number_of_steps() -> None:
    numbers = {"list": list(range(300))}
    with pytest.raises(StageError, match="more than 20000 steps"):
        jq_query("[.list[] + .list[]] | length").results(numbers)


def test_a_jq_expression_cannot_make_huge_values() -> None:
    doubled = " | ".join([". + ."] * 60)
    assert jq_query(f".metadata.name | {doubled} | length").results(OBJECT) == []


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ .metadata.name }}/{{ .absent }}", "a/<no value>"),
        ("a {{- /* trimmed */ -}} b", "ab"),
        ("{{ range $i, $x := .spec.list }}{{ $i }}{{ $x }} {{ end }}", "0p 1q "),
        ("{{ range .spec.none }}x{{ else }}none{{ end }}", "none"),
        ("{{ range .spec.list }}{{ if eq . `q` }}{{ break }}{{ end }}{{ . }}{{ end }}", "p"),
        ("{{ $n := 1 }}{{ range .spec.list }}{{ $n = add $n 2 }}{{ end }}{{ $n }}", "5"),
        ("{{ with .absent }}x{{ else }}{{ .metadata.name }}{{ end }}", "a"),
        ("{{ if eq .spec.size 2 }}2{{ else if eq .spec.size 3 }}3{{ end }}", "3"),
        ("{{ or .absent `d` | Quote }}{{ .spec.size | Quote }}", '"d""3"'),
        ('{{ printf "%s-%03d" .metadata.name .spec.size }}', "a-003"),
        ("{{ (index .status.conditions 1).type | lower | repeat 2 }}", "otherother"),
        ("{{ YAML .metadata.labels 1 }}", '\n  x/y: "1"\n  '),
        ("{{ .spec.list }} {{ toJson .spec.list }}", '[p q] ["p","q"]'),
        (
            '{{ default "d" .absent }} {{ ternary "y" "n" true }} {{ join "," .spec.list }}',
            "d y p,q",
        ),
    ],
)
def test_a_template_writes(template: str, text: str) -> None:
    assert _rendered(template) == text


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ genCA }}", 'the function "genCA" is not supported'),
        ('{{ template "x" }}', 'the template "x" is not defined'),
        ("{{ range .spec }}", "{{end}} is missing"),
        ("{{ end }}", "unexpected {{end}}"),
        ("{{ $x }}", "undefined variable $x"),
        ("{{ break }}", "outside of {{range}}"),
        ("{{ .metadata.name.deeper }}", "has no field deeper"),
        ("{{ index .spec.list 2 }}", "index out of range"),
        ("{{ lower 1 }}", "wrong number or type of arguments"),
        ("{{ fail `no` }}", "fail: no"),
        ("{{ if true }}" * 50 + "{{ end }}" * 50, "nested too deeply"),
        ("{{ range until 9999 }}{{ range until 9999 }}{{ end }}{{ end }}", "50000 steps"),
        ("{{ range until 9999 }}{{ $.metadata.name | repeat 100 }}{{ end }}", "262144 characters"),
        ("{{ repeat 999999999 `x` }}", "262144 characters"),
        ("{{ replace `` .long .long }}", "262144 characters"),
        ("{{ printf `%999d` 1 }}", "widths are at most 200"),
        (
            "{{ $x := list 1 }}{{ range until 90 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}",
            "262144 characters",
        ),
    ],
)
def test_what_is_wrong_with_a_template_is_said(template: str, reason: str) -> None:
    with pytest.raises(TemplateError, match=r".") as refusal:
        _rendered(template)
    assert reason in str(refusal.value)


def _rendered(template: str) -> str:
    body = parse_template(template, {*FUNCTIONS, *LAZY})
    return render(body, {**OBJECT, "long": "x" * 1000}, FUNCTIONS)
