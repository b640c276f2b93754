"""`fairlead get`."""

from __future__ import annotations

from support.commands import Commands


def test_namespaces_are_shown_as_a_table(fairlead: Commands) -> None:
    head, *rows = fairlead("get", "ns").splitlines()
    assert head.split() == ["NAME", "STATUS", "AGE"]
    assert any(row.split()[:2] == ["default", "Active"] for row in rows)


def test_a_resource_that_is_not_served(fairlead: Commands) -> None:
    ran = fairlead.run("get", "nothings")
    assert ran.code == 1
    assert ran.errors == 'error: the server doesn\'t have a resource type "nothings"\n'
