"""The edges between owners and dependents, and what they cost."""

from __future__ import annotations

import tracemalloc

from fairlead.controllers.garbage.graph import Edges, Graph

MAX_BYTES_AN_EDGE = 250


def test_edges_of_an_owner_are_the_keys_that_were_added() -> None:
    edges = Edges()
    for key in ("a", "b", "a", "c"):
        edges.add("one", key)
    edges.add("two", "a")
    assert set(edges.of("one")) == {"a", "b", "c"}
    assert set(edges.of("two")) == {"a"}
    assert set(edges.of("three")) == set()
    assert len(edges) == 4


def test_edges_report_when_the_last_key_is_removed() -> None:
    edges = Edges()
    for key in ("a", "b"):
        edges.add("one", key)
    assert not edges.remove("one", "c")
    assert not edges.remove("one", "a")
    assert edges.remove("one", "b")
    assert not edges.remove("one", "b")
    assert len(edges) == 0


def test_an_owner_that_went_is_remembered_while_it_has_dependents() -> None:
    graph = Graph()
    graph.add("owner", "a")
    assert set(graph.record_deleted("owner")) == {"a"}
    assert graph.is_absent("owner")
    graph.remove("owner", "a")
    assert not graph.is_absent("owner")
    assert set(graph.record_deleted("owner")) == set()
    assert not graph.is_absent("owner")


def test_kinds_that_are_not_served_are_forgotten_with_their_dependents() -> None:
    graph = Graph()
    kind = ("example.com/v1", "Widget")
    for key in ("a", "b"):
        graph.record_unresolved(kind, key)
    graph.forget_unresolved(kind, "a")
    assert graph.unresolved_kinds("example.com") == [kind]
    assert graph.unresolved_kinds("") == []
    assert set(graph.take_resolved(kind)) == {"b"}
    graph.record_unresolved(kind, "c")
    graph.forget_unresolved(kind, "c")
    assert graph.unresolved_kinds("example.com") == []


def test_an_edge_takes_few_bytes() -> None:
    count = 10_000
    for dependents_each in (1, 10, count):
        graph = Graph()
        tracemalloc.start()
        for number in range(count):
            uid = f"{number // dependents_each:08}-2222-3333-4444-555555555555"
            graph.add(uid, f"core/pods some-namespace/some-name-{number}")
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(graph) == count
        assert taken / count < MAX_BYTES_AN_EDGE
