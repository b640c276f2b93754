"""The console's JavaScript modules for YAML, diffs, merges and fields, run in a browser."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from support.browser import Tabs, Visitor
from support.client import YAML
from support.namespaces import Space
from support.process import ServerProcess

from fairlead.cli.ownership.fields import Field, field_tree
from fairlead.cli.ownership.managers import managers_of

pytest.importorskip("playwright.sync_api")


APPLY = "application/apply-patch+yaml"
ODD_TEXTS = (
    *("", " ", "plain", "two words", "1", "1.5", "1e3", "0x1f", "0b11", "0o17", "1_000", ".5"),
    *(".inf", "-.INF", ".nan", "true", "No", "off", "y", "null", "~", "2020-01-01", "12:30"),
    *("- a", "a: b", "a #b", "#", "'", '"', "`", "@x", "%x", "&a", "*a", "!t", "|", ">", "?", "{}"),
    *("[a]", "a\nb", "a\nb\n", "a\n\n", "\na", "  a\nb", "a\n  b\n", "a\tb", "a\n\n\nb\n", "\ttab"),
    *("<b>x</b>", "é", "☃", "😀", "\x07", "a\\b", "a: ", "a:", "trailing ", "=", "<<"),
    *("\u2028x", "\x85", "\u202eevil", "a\nb\u2028c\n", "nginx:1.2", "f:metadata", "1:2:3"),
    *("a:\nb", ".", "._"),
)  # fmt: skip


class Modules:
    """The console's modules in a page that does nothing else."""

    def __init__(self, visitor: Visitor) -> None:
        self._page = visitor.page

    def run(self, module: str, code: str, argument: Any) -> Any:
        """What a function makes of an argument, with a module at hand as `it`."""
        script = f"async (given) => {{ const it = await import('/console/{module}'); {code} }}"
        return self._page.evaluate(script, argument)


@pytest.fixture(scope="module")
def modules(tabs: Tabs, server: ServerProcess) -> Iterator[Modules]:
    visitor = tabs.take(server)
    visitor.begin("#/overview", token=None)
    yield Modules(visitor)
    tabs.give_back([visitor])


def random_value(luck: random.Random, depth: int = 0) -> Any:
    kind = luck.random()
    if depth < 4 and kind < 0.35:
        keys = [luck.choice(ODD_TEXTS) for _ in range(luck.randrange(4))]
        return {key: random_value(luck, depth + 1) for key in keys}
    if depth < 4 and kind < 0.6:
        return [random_value(luck, depth + 1) for _ in range(luck.randrange(4))]
    return luck.choice([*ODD_TEXTS, 0, -7, 2.5, True, False, None])


def test_lines_of_yaml_say_what_the_value_is(modules: Modules) -> None:
    luck = random.Random(22)
    values = [{"v": text} for text in ODD_TEXTS] + [[text] for text in ODD_TEXTS]
    values += [{text: text} for text in ODD_TEXTS]
    values += [random_value(luck) for _ in range(300)]
    code = (
        "return given.map((one) => it.yamlLines(one).map((line) => line.text).join('\\n') + '\\n')"
    )
    texts = modules.run("core/yaml_lines.js", code, values)
    assert [yaml.safe_load(text) for text in texts] == values


def test_lines_are_in_the_servers_order(modules: Modules, kubernetes: Space) -> None:
    kubernetes.config_maps.create("c", data={"b": "1", "a": "x: y\n", "c": "on"})
    path = kubernetes.config_maps.item("c")
    text = kubernetes.client.get(path, headers={"Accept": YAML}).text
    code = "return it.yamlLines(given).map((line) => line.text.trim().split(':')[0])"
    keys = modules.run("core/yaml_lines.js", code, kubernetes.config_maps.read("c"))
    assert keys == [line.strip().split(":")[0].replace("'", '"') for line in text.splitlines()]


def test_differences_are_the_fewest_and_lead_from_one_text_to_the_other(modules: Modules) -> None:
    luck = random.Random(7)
    pairs = [
        [[luck.choice("abcd") for _ in range(luck.randrange(12))] for _ in range(2)]
        for _ in range(300)
    ]
    code = "return given.map(([a, b]) => it.difference(a, b))"
    for (left, right), steps in zip(pairs, modules.run("core/diff.js", code, pairs), strict=True):
        assert [step["text"] for step in steps if step["sign"] != "+"] == left
        assert [step["text"] for step in steps if step["sign"] != "-"] == right
        kept = sum(1 for step in steps if step["sign"] == " ")
        matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
        assert kept >= sum(block.size for block in matcher.get_matching_blocks())


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        ("a B c d", "a b c D", "a B c D"),
        ("a b c d x", "y a b c d", "y a b c d x"),
        ("a c d", "a b c e d", "a c e d"),
        ("a X c d", "a X c d", "a X c d"),
        ("a X c d", "a Y c d", "a <<<<<<<_yours X ======= Y >>>>>>>_theirs c d"),
        ("a c d", "a Y c d", "a <<<<<<<_yours ======= Y >>>>>>>_theirs c d"),
        ("a b X Y", "a b c Z", "a b <<<<<<<_yours X Y ======= c Z >>>>>>>_theirs"),
        ("a b c d", "", ""),
        ("a B c d", "a b C d", "a B C d"),
    ],
)
def test_changes_of_two_are_brought_together(
    modules: Modules, mine: str, theirs: str, merged: str
) -> None:
    texts = [["a", "b", "c", "d"], mine.split(), theirs.split()]
    result = modules.run("core/merge.js", "return it.merge(...given)", texts)
    assert [line.replace(" ", "_") for line in result["lines"]] == merged.split()
    assert result["conflicts"] == merged.count("=======")


WRITTEN = """\
# what somebody wrote
apiVersion: apps/v1
metadata:
  name: "web"   # a name
  labels:
    app.example.com/name: x
  annotations:
    note: |
      spec: not this one

      nor this
    'quoted key': a
spec:
  replicas: -1
  template:
    spec:
      containers:
      - image: nginx
        name: a
      -
        name: b
        args: [x,
          y]
        env:
          - name: A
            value: "1"
          - {name: B}
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("spec.replicas", 14),
        (".spec.replicas", 14),
        ("metadata.labels.app.example.com/name", 6),
        ("metadata.labels[app.example.com/name]", 6),
        ("metadata.annotations[quoted key]", 12),
        ("spec.template.spec.containers[0].image", 18),
        ("spec.template.spec.containers[1].name", 21),
        ('.spec.template.spec.containers[name="b"].args', 22),
        ("spec.template.spec.containers.env.value", 26),
        ("spec.template.spec.containers[1].env[1].name", 27),
        ("spec.missing", 13),
        ("metadata.name", 4),
    ],
)
def test_a_field_is_found_in_what_somebody_wrote(modules: Modules, field: str, line: int) -> None:
    code = """
      const paths = await import('/console/core/field_paths.js');
      const scanned = it.scan(given.text);
      return it.lineOf(scanned, paths.locate(scanned.value, given.field).path) + 1;
    """
    value = {"text": WRITTEN, "field": field}
    assert modules.run("core/yaml_scan.js", code, value) == line


def test_managed_fields_alone_are_left_out_of_the_text(modules: Modules, kubernetes: Space) -> None:
    maps = kubernetes.config_maps
    maps.create("c", data={"a": "metadata:\n  managedFields:\n  - x\n"})
    text = maps.client.get(maps.item("c"), headers={"Accept": YAML}).text
    code = "return it.withoutManagers(given)"
    expected = yaml.safe_load(text)
    del expected["metadata"]["managedFields"]
    output = modules.run("core/yaml_scan.js", code, text)
    assert yaml.safe_load(output) == expected
    assert modules.run("core/yaml_scan.js", code, output) == output


def test_fields_have_the_owners_that_the_command_line_tells(
    modules: Modules, kubernetes: Space
) -> None:
    value = _owned_by_several(kubernetes)
    code = """
      return it.fieldsOf(given).map((one) => ({
        name: one.name, owners: one.owners.map((o) => `${o.name} ${o.way}`),
      }));
    """
    result = modules.run("core/fields.js", code, value)
    reported = {item["name"]: item["owners"] for item in result}
    tree = field_tree(value, managers_of(value))
    assert reported == {
        item.path: [f"{owner.name} {owner.way}" for owner in item.owners] for item in _flat(tree)
    }
    assert reported['.spec.template.spec.containers[name="c"].image'] == ["other Apply"]
    assert reported['.metadata.finalizers[="example.com/hold"]'] == ["other Apply"]


def _flat(field: Field) -> list[Field]:
    return [item for child in field.children for item in (child, *_flat(child))]


def _owned_by_several(space: Space) -> dict[str, Any]:
    collection = space.collection("deployments", "apps")
    container = {"name": "c", "image": "a", "ports": [{"containerPort": 80}]}
    collection.create(
        "d",
        labels={"app.example.com/name": "x"},
        spec={
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [container, {"name": "e", "image": "a", "args": ["x"]}]},
            },
        },
    )
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"finalizers": ["example.com/hold"]},
        "spec": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "c", "image": "b"}]}},
        },
    }
    answer = space.client.patch(
        collection.item("d"), body, kind=APPLY, fieldManager="other", force="true"
    )
    assert answer.status == 200, answer.text
    document: dict[str, Any] = answer.body
    return document
