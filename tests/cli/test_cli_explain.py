"""`fairlead explain`: texts from the server's schemas."""

from __future__ import annotations

from typing import Any

import pytest
from support.commands import Commands
from support.namespaces import Space, random_word

from fairlead.cli.explain.older_page import wrapped
from fairlead.cli.explain.page import folded


def test_a_kind_and_its_fields(fairlead: Commands) -> None:
    output = fairlead("explain", "cm")
    assert output.startswith("KIND:       ConfigMap\nVERSION:    v1\n\nDESCRIPTION:\n    ")
    assert "\nFIELDS:\n" in output
    assert "\n  data\t<map[string]string>\n    " in output
    assert "\n  metadata\t<ObjectMeta>\n" in output


def test_a_field_with_fields(fairlead: Commands) -> None:
    lines = fairlead("explain", "pods.spec.containers").splitlines()
    assert lines[:4] == ["KIND:       Pod", "VERSION:    v1", "", "FIELD: containers <[]Container>"]
    assert "  name\t<string> -required-" in lines


def test_the_group_stands_above_the_kind(fairlead: Commands) -> None:
    lines = fairlead("explain", "deploy.spec.replicas").splitlines()
    assert lines[:7] == [
        "GROUP:      apps",
        "KIND:       Deployment",
        "VERSION:    v1",
        "",
        "FIELD: replicas <integer>",
        "",
        "",
    ]
    assert lines[7] == "DESCRIPTION:"


def test_the_values_of_an_enumeration_are_listed(fairlead: Commands) -> None:
    assert "FIELD: type <string>\nENUM:\n    Recreate\n    RollingUpdate\n\n" in fairlead(
        "explain", "deploy.spec.strategy.type"
    )
    assert "  type\t<string>\n  enum: Recreate, RollingUpdate\n" in fairlead(
        "explain", "deploy.spec.strategy"
    )


def test_the_tree_of_fields(fairlead: Commands) -> None:
    lines = fairlead("explain", "deploy.spec.selector", "--recursive").splitlines()
    at = lines.index("FIELDS:")
    assert lines[at + 1 :] == [
        "  matchExpressions\t<[]LabelSelectorRequirement>",
        "    key\t<string> -required-",
        "    operator\t<string> -required-",
        "    values\t<[]string>",
        "  matchLabels\t<map[string]string>",
        "",
    ]


def test_the_older_layout_can_be_chosen(fairlead: Commands) -> None:
    lines = fairlead("explain", "deploy.spec", "-o", "plaintext-openapiv2").splitlines()
    assert lines[:4] == ["KIND:     Deployment", "VERSION:  apps/v1", "", "RESOURCE: spec <Object>"]
    assert "   template\t<Object> -required-" in lines


def test_a_type_that_contains_itself_ends(fairlead: Commands) -> None:
    assert "openAPIV3Schema\t<JSONSchemaProps>" in fairlead("explain", "crd", "--recursive")


@pytest.mark.both_dialects
def test_a_group_or_a_version_can_be_named(fairlead: Commands) -> None:
    group = fairlead.space.dialect.group_name("networking.@")
    assert "FIELD: ingressClassName" in fairlead(
        "explain", f"ingresses.{group}.spec.ingressClassName"
    )
    output = fairlead("explain", "hpa", "--api-version=autoscaling/v1")
    assert (
        "GROUP:      autoscaling\nKIND:       HorizontalPodAutoscaler\nVERSION:    v1\n" in output
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pods.spec.foo",), 'error: field "foo" does not exist\n'),
        (("pods.spec.nodeName.x",), 'error: field "x" does not exist\n'),
        (("nothings",), 'error: the server does not serve "nothings"\n'),
        ((), "error: name the kind to explain"),
        (("pods", "web"), "error: give one kind or field\n"),
        (("pods", "--api-version=a/v1"), 'error: couldn\'t find resource for "a/v1, Kind=Pod"\n'),
    ],
)
def test_what_cannot_be_explained(fairlead: Commands, words: tuple[str, ...], message: str) -> None:
    ran = fairlead.run("explain", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(message)


def test_custom_kinds_are_explained_too(space: Space) -> None:
    plural, group = f"{random_word()}s", f"{random_word()}.example.com"
    schema: dict[str, Any] = {
        "type": "object",
        "description": "A thing \x1b[31mof ours.",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": plural[:-1], "kind": plural.title()}
    space.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"{plural}.{group}",
        spec={"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    )
    commands = Commands(space)
    ran = commands.run("explain", plural)
    while ran.code:  # until it is served
        ran = commands.run("explain", plural)
    assert "    A thing ^[[31mof ours.\n" in ran.out
    assert "FIELD: size <integer>" in commands("explain", f"{plural}.spec.size")


def test_descriptions_keep_their_lines_and_long_ones_are_folded() -> None:
    text = f"{'word ' * 20}\nand more:\n- one\n\n    code  stays\nlast"
    assert list(folded(text)) == [
        f"    {'word ' * 14}word",
        f"    {'word ' * 4}word",
        "    and more:",
        "    - one",
        "    ",
        "        code  stays",
        "    last",
    ]


def test_descriptions_of_the_older_layout_are_folded_and_lists_are_kept() -> None:
    text = f"{'word ' * 20}\nand more:\n- one\n- two\n\n    code  stays\nlast"
    assert list(wrapped(text, 5)) == [
        f"     {'word ' * 14}word",
        f"     {'word ' * 5}and more:",
        "     - one",
        "     - two",
        "",
        "         code  stays",
        "     last",
    ]
