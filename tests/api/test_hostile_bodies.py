"""Hostile bodies are refused at once, and the server continues."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.namespaces import Space
from support.process import ServerProcess

# A server that would rather fail than take the machine down.
MODEST = "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30))"


def _nested_aliases(levels: int) -> str:
    lines = ["metadata: {name: a}", "a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


DEEP = 100_000

HOSTILE = {
    "yaml aliases": ("application/yaml", _nested_aliases(12)),
    "yaml depth": ("application/yaml", "a: " + "[" * DEEP),
    "yaml flow depth": ("application/yaml", "{a: " * DEEP),
    "json depth": ("application/json", '{"a":' * DEEP + "1" + "}" * DEEP),
    "json list depth": ("application/json", '{"metadata":' + "[" * DEEP + "]" * DEEP + "}"),
    "json digits": ("application/json", '{"metadata":{"generation":' + "9" * 1_000_000 + "}}"),
    "json exponent": ("application/json", '{"metadata":{"generation":1e999999999}}'),
    "nul": ("application/json", '{"metadata":{"name":"a\\u0000"}}'),
    "lone surrogate": ("application/json", '{"metadata":{"name":"a","labels":{"k":"\\ud800"}}}'),
}


@pytest.mark.parametrize("body", HOSTILE)
def test_a_body_made_to_hurt_is_refused_and_the_server_goes_on(
    fresh_server: Callable[..., ServerProcess], body: str
) -> None:
    server = fresh_server(prelude=MODEST)
    space = Space(server, server.client())
    kind, text = HOSTILE[body]
    answer = space.client.post(space.config_maps.path, text, headers={"Content-Type": kind})
    assert answer.status in (400, 413, 422), answer.text[:300]
    assert space.config_maps.create("b")


def test_a_quantity_made_to_hurt_is_refused(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server(prelude=MODEST)
    space = Space(server, server.client())
    for amount in ("1e999999999", "1e-999999999", "9" * 100_000, "0." + "1" * 100_000):
        space.client.post(
            space.collection("resourcequotas").path,
            {"metadata": {"generateName": "a-"}, "spec": {"hard": {"pods": amount}}},
        )
    assert space.config_maps.create("b")


def test_selectors_made_to_hurt_are_answered(fresh_server: Callable[..., ServerProcess]) -> None:
    server = fresh_server(prelude=MODEST)
    space = Space(server, server.client())
    for selector in ("a" * 20_000, "a in (" + "b," * 10_000 + "b)", "!" * 20_000, "(" * 20_000):
        assert space.secrets.list(labelSelector=selector).status in (200, 400)
    for selector in ("a" * 20_000, "metadata.name=" + "\\" * 20_000, "=" * 20_000):
        assert space.secrets.list(fieldSelector=selector).status in (200, 400)
    assert space.config_maps.create("b")


def test_a_lone_surrogate_becomes_the_replacement_character(space: Space) -> None:
    body = r'{"metadata": {"name": "a"}, "data": {"k": "x\ud800y"}}'
    answer = space.client.post(space.config_maps.path, body)
    assert (answer.status, answer.body["data"]) == (201, {"k": "x\ufffdy"})


def test_bad_utf_8_becomes_the_replacement_character(space: Space) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"k": "x\xffy"}}'
    answer = space.client.post(space.config_maps.path, body)
    assert (answer.status, answer.body["data"]) == (201, {"k": "x\ufffdy"})
