"""`fairlead label` and `fairlead annotate`."""

from __future__ import annotations

import pytest
from support.commands import Commands

CONFLICT = (
    'Error from server (Conflict): Operation cannot be fulfilled on configmaps "a": the object has'
    " been modified; please apply your changes to the latest version and try again\n"
)


@pytest.fixture
def labelled(fairlead: Commands) -> Commands:
    fairlead("create", "cm", "a")
    fairlead("label", "cm", "a", "x=1")
    return fairlead


def labels(fairlead: Commands, name: str = "a") -> dict[str, str]:
    result: dict[str, str] = fairlead.space.config_maps.read(name)["metadata"].get("labels", {})
    return result


def test_labels_are_set_and_removed(labelled: Commands) -> None:
    assert labelled("label", "cm", "a", "x=1") == "configmap/a not labeled\n"
    assert labelled("label", "cm", "a", "y=2", "x-") == "configmap/a labeled\n"
    assert labels(labelled) == {"y": "2"}
    assert labelled("label", "cm", "a", "y-") == "configmap/a unlabeled\n"
    assert labelled("label", "cm", "a", "y-") == ('label "y" not found.\nconfigmap/a not labeled\n')


def test_a_label_with_another_value_is_only_overwritten_on_purpose(labelled: Commands) -> None:
    ran = labelled.run("label", "cm", "a", "x=2")
    assert ran.code == 1
    assert ran.errors == "error: x is 1 already; --overwrite replaces it\n"
    assert labelled("label", "cm", "a", "x=2", "--overwrite") == "configmap/a labeled\n"


def test_several_objects_by_labels_and_all_of_them(labelled: Commands) -> None:
    labelled("create", "cm", "b")
    assert labelled("label", "cm", "a", "b", "t=1") == (
        "configmap/a labeled\nconfigmap/b labeled\n"
    )
    assert labelled("label", "cm", "-l", "x=1", "u=1") == "configmap/a labeled\n"
    assert "configmap/b labeled\n" in labelled("label", "cm", "--all", "v=1")


def test_labels_are_listed(labelled: Commands) -> None:
    labelled("create", "cm", "b")
    assert labelled("label", "cm", "a", "--list") == "x=1\n"
    assert labelled("label", "cm", "a", "b", "--list") == (
        "Listing labels for ConfigMap./a:\n x=1\nListing labels for ConfigMap./b:\n"
    )


def test_dry_runs_leave_labels_alone(labelled: Commands) -> None:
    assert labelled("label", "cm", "a", "y=1", "--dry-run=client") == (
        "configmap/a labeled (dry run)\n"
    )
    assert labelled("label", "cm", "a", "y=1", "--dry-run=server") == (
        "configmap/a labeled (server dry run)\n"
    )
    assert labels(labelled) == {"x": "1"}


def test_an_object_that_has_changed_keeps_its_labels(labelled: Commands) -> None:
    ran = labelled.run("label", "cm", "a", "y=1", "--resource-version=1")
    assert (ran.code, ran.errors) == (1, CONFLICT)
    version = labelled.space.config_maps.read("a")["metadata"]["resourceVersion"]
    labelled("label", "cm", "a", "y=1", f"--resource-version={version}")


MISTAKES = {
    "": "name objects first, such as pod web or pod/web",
    "cm a": "say which label to change: KEY=VALUE, or KEY- to remove it",
    "cm a=b": "name the objects, or give --all or a selector",
    "cm a x=y x-": "a label is both set and removed",
    "cm a x=!!": 'invalid label value: "x=!!": a valid label must be an empty string or consist of',
    "cm a b x=y --resource-version=1": "--resource-version needs a single object, but several"
    " are selected",
    "cm a=b c": "objects must come before the changes, but this comes after them: c",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_mistakes_are_told(fairlead_kubernetes: Commands, words: str) -> None:
    ran = fairlead_kubernetes.run("label", *words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(f"error: {MISTAKES[words]}")


def test_annotations_are_set_and_removed(labelled: Commands) -> None:
    assert labelled("annotate", "cm", "a", "note=a b=c") == "configmap/a annotated\n"
    assert labelled("annotate", "cm", "a", "--list") == "note=a b=c\n"
    ran = labelled.run("annotate", "cm", "a", "note=other")
    assert (ran.code, ran.errors) == (
        1,
        "error: already annotated: note is a b=c; --overwrite replaces it\n",
    )
    labelled("annotate", "cm", "a", "note-", "other=1")
    assert labelled("annotate", "cm", "a", "--list") == "other=1\n"


def test_what_the_server_refuses_is_told_once(labelled: Commands) -> None:
    ran = labelled.run("label", "cm", "a", "!!=x")
    assert ran.code == 1
    assert ran.errors.startswith(
        'The ConfigMap "a" is invalid: metadata.labels: Invalid value: "!!": name part must'
    )


def test_a_value_that_is_in_the_way_does_not_reach_a_terminal_raw(fairlead: Commands) -> None:
    fairlead("create", "cm", "a")
    fairlead("annotate", "cm", "a", "note=\x1b[31mred")
    ran = fairlead.run("annotate", "cm", "a", "note=blue")
    assert (ran.code, "^[[31mred" in ran.errors, "\x1b" in ran.errors) == (1, True, False)
