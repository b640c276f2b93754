"""JSONPath expressions of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cli.output.jsonpath import JsonPathError, parse, relaxed, template

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"x.y/z": "1", "app": "a<b"}, "when": None},
    "spec": {
        "replicas": 2,
        "share": 0.5,
        "paused": False,
        "containers": [
            {"name": "c", "image": "nginx", "ports": [{"port": 80}, {"port": 443}]},
            {"name": "d", "image": "redis"},
        ],
    },
}
C = ".spec.containers"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("{.metadata.name} is a {.kind}", "web is a Pod"),
        ("{['metadata']['name']}", "web"),
        ("{ $.metadata.name }{@.kind}", "webPod"),
        (r"{.metadata.labels.x\.y/z}", "1"),
        ("{.metadata.labels['x\\.y/z']}", "1"),
        ("{.metadata.labels}", '{"app":"a\\u003cb","x.y/z":"1"}'),
        ("{.metadata.when}", "null"),
        ("{.spec.replicas} {.spec.share} {.spec.paused}", "2 0.5 false"),
        ("{.nothing.more}", ""),
        (f"{{{C}[*].name}}", "c d"),
        (f"{{{C}[-1].name}}", "d"),
        (f"{{{C}[-2:].name}}", "c d"),
        (f"{{{C}[0:1].name}}", "c"),
        (f"{{{C}[::2].name}}", "c"),
        (f"{{{C}[0:0].name}}", ""),
        (f"{{{C}[0, 1].name}}", "c d"),
        (f"{{{C}[0]['name','image']}}", "c nginx"),
        (f'{{{C}[?(@.name=="d")].image}}', "redis"),
        (f"{{{C}[?(@.name!='d')].image}}", "nginx"),
        (f"{{{C}[?(@.ports)].image}}", "nginx"),
        (f"{{{C}[0].ports[?(@.port>=443)].port}}", "443"),
        (f'{{{C}[?(@.name==")")].image}}', ""),
        (f"{{{C}[?(@.name==@.name)].image}}", "nginx redis"),
        ("{..port}", "80 443"),
        ("{.spec..name}", "c d"),
        (f'{{range {C}[*]}}{{.name}}{{"\\t"}}{{.image}}{{"\\n"}}{{end}}.', "c\tnginx\nd\tredis\n."),
        (
            f"{{range {C}[*]}}[{{.name}}{{range .ports[*]}},{{.port}}{{end}}]{{end}}",
            "[c,80,443][d]",
        ),
        ("{range .nothing[*]}{.name}{end}after", "after"),
        (r"{'it\'s'}{" + r'"\u0041\x42"}', "it'sAB"),
        ("{true}{1}{1.5}{-3}", "true11.5-3"),
    ],
)
def test_what_a_template_shows(text: str, expected: str) -> None:
    assert template(text).render(POD) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{.metadata.name", "unclosed action"),
        ("{#}", "unrecognized character in action: U+0023 '#'"),
        ('{"open', "unterminated quoted string"),
        ('{"\\q"}', 'unquote string "\\q" error invalid syntax'),
        ("{.a[0", "unterminated array"),
        ("{.a[x]}", "invalid array index x"),
        ("{.a[-]}", "array index - is not a number"),
        ("{.a[" + "9" * 5000 + "]}", "invalid array index"),
        ("{.a[?(@.b]}", "unterminated filter"),
        ("{.a[?(@.b)}", "unclosed array expect ]"),
        ("{1.2.3}", "cannot parse number 1.2.3"),
        ("{....x}", "invalid multiple recursive descent"),
        ("{end}", "{end} without a {range}"),
        ("{range .a}" * 1000, "loops are nested too deeply"),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(JsonPathError) as raised:
        template(text)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{foo}", "unrecognized identifier foo"),
        (f"{{{C}[5]}}", "there is no item 5: the list has 2"),
        (f"{{{C}[-5]}}", "there is no item -3: the list has 2"),
        (f"{{{C}[0:3]}}", "there is no item 2: the list has 2"),
        (f"{{{C}[1:0]}}", "the slice ends before it begins: 1:0"),
        (f"{{{C}[::0]}}", "step must be > 0"),
        ("{.spec.replicas[0]}", "int64 is not a list"),
        ("{.kind[?(@.x)]}", "a filter needs a list, not: Pod"),
        (f"{{{C}[?(@.name==1)]}}", "incompatible types for comparison"),
        (f'{{{C}[?(@.ports=="a")]}}', "invalid type for comparison"),
        (f"{{{C}[?(@.ports[*].port==80)]}}", "only single values can be compared"),
        (f'{{{C}[?(@.name<>"a")]}}', "unrecognized filter operator <>"),
    ],
)
def test_what_does_not_fit_the_value(text: str, message: str) -> None:
    with pytest.raises(JsonPathError) as raised:
        template(text).render(POD)
    assert str(raised.value).startswith(message)


def test_values_are_found_as_they_are() -> None:
    assert parse(f"{{{C}[*].ports}}").find(POD) == [[{"port": 80}, {"port": 443}]]
    assert parse("{.spec.replicas}").find(POD) == [2]
    assert parse("{.nothing}").find(POD) == []


def test_fields_that_must_be_there() -> None:
    with pytest.raises(JsonPathError, match="nothing is not found"):
        parse("{.metadata.nothing}").find(POD, strict=True)


@pytest.mark.parametrize("text", ["a.b", ".a.b", "{a.b}", "{.a.b}"])
def test_people_leave_out_braces_and_the_first_dot(text: str) -> None:
    assert relaxed(text) == "{.a.b}"


def test_what_is_no_path_even_so() -> None:
    with pytest.raises(JsonPathError, match="a path consists of names"):
        relaxed("{a}{b}")


def test_each_expression_as_a_list_of_json() -> None:
    assert template("{.kind}{.spec.replicas}").render_json(POD) == (
        '[\n    "Pod"\n]\n[\n    2\n]\n'
    )


def test_a_deep_value_is_no_trouble() -> None:
    deep: Any = {"name": "bottom"}
    for _ in range(5000):
        deep = {"a": deep}
    assert template("{..name}").render(deep) == "bottom"
