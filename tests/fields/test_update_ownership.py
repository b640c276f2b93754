"""Ownership after creates, updates and patches."""

from __future__ import annotations

from typing import Any

import pytest
from support.patching import (
    CONFIG_MAP,
    POD,
    STATUS,
    Cluster,
    config_map,
    custom,
    data,
    struct,
)

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.codec.types.model import ListOf
from fairlead.codec.types.notation import SCALARS
from fairlead.fields.entries import OneVersion
from fairlead.fields.ownership import track_update


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(CONFIG_MAP)


class TestAttribution:
    def test_the_creator_owns_what_it_made(self, cluster: Cluster) -> None:
        cluster.put("creator", config_map({"k": "v"}))
        assert cluster.entries == [
            {
                "manager": "creator",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2024-01-01T00:00:01Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {".": {}, "f:k": {}}},
            }
        ]

    def test_nobody_owns_what_identifies_the_object_or_what_the_server_keeps(
        self, cluster: Cluster
    ) -> None:
        metadata = {
            "namespace": "n",
            "uid": "u",
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2024-01-01T00:00:00Z",
            "selfLink": "/x",
        }
        cluster.put("creator", config_map(None, **metadata))
        assert cluster.entries == []

    def test_who_changes_a_field_owns_it_and_the_former_owner_does_not(
        self, cluster: Cluster
    ) -> None:
        cluster.put("a", config_map({"x": "1", "y": "1"}))
        cluster.put("b", config_map({"x": "2", "y": "1", "z": "1"}))
        assert cluster.owned_by("a") == {"f:data": {".": {}, "f:y": {}}}
        assert cluster.owned_by("b") == data("x", "z")

    def test_update_to_an_equal_value_gives_no_ownership(self, cluster: Cluster) -> None:
        cluster.put("a", config_map({"x": "1"}))
        before = cluster.entries
        cluster.put("b", config_map({"x": "1"}))
        assert cluster.entries is before

    def test_removed_field_has_no_owner(self, cluster: Cluster) -> None:
        cluster.put("a", config_map({"x": "1", "y": "1"}))
        cluster.put("b", config_map({"x": "1"}))
        assert cluster.owners == {"a": {"f:data": {".": {}, "f:x": {}}}}

    def test_removing_changes_no_time(self, cluster: Cluster) -> None:
        cluster.put("a", config_map({"x": "1", "y": "1"}))
        cluster.put("a", config_map({"x": "1"}))
        assert cluster.entries[0]["time"] == "2024-01-01T00:00:01Z"

    def test_who_owns_only_the_map_itself_is_shown_with_an_empty_node(
        self, cluster: Cluster
    ) -> None:
        cluster.put("a", config_map({"x": "1"}))
        cluster.put("b", config_map({"x": "2"}))
        assert cluster.owned_by("a") == {"f:data": {}}

    def test_manager_that_owns_nothing_any_more_loses_its_entry(self, cluster: Cluster) -> None:
        cluster.put("a", config_map({"x": "1"}))
        cluster.put("b", config_map())
        assert cluster.entries == []

    def test_a_change_moves_the_time_of_its_manager_only(self, cluster: Cluster) -> None:
        cluster.put("a", config_map({"x": "1"}))
        cluster.put("b", config_map({"x": "1", "y": "1"}))
        cluster.put("b", config_map({"x": "1", "y": "2"}))
        times = {entry["manager"]: entry["time"][-3:-1] for entry in cluster.entries}
        assert times == {"a": "01", "b": "03"}

    def test_manager_without_a_name_is_called_unknown(self, cluster: Cluster) -> None:
        cluster.put("", config_map({"x": "1"}))
        assert list(cluster.owners) == ["unknown"]

    def test_an_update_takes_fields_from_appliers(self, cluster: Cluster) -> None:
        cluster.apply("a", config_map({"x": "1", "y": "1"}))
        cluster.put("b", {**cluster.object, "data": {"x": "2", "y": "1"}})
        assert cluster.owners == {"a": data("y"), "b": data("x")}

    def test_fields_the_request_cannot_write_are_not_owned(self) -> None:
        cluster = Cluster(POD, ignored=STATUS)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}
        cluster.put("creator", {**pod, "status": {"phase": "Pending"}})
        assert cluster.owners == {"creator": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}}

    def test_a_subresource_has_an_entry_of_its_own(self) -> None:
        cluster = Cluster(POD, ignored=STATUS)
        cluster.put("a", {"metadata": {}, "spec": {"hostNetwork": True}, "status": {}})
        status = {**cluster.object, "status": {"phase": "Running"}}
        cluster.put("a", status, subresource="status", ignored={"f:spec": {}})
        assert [entry.get("subresource") for entry in cluster.entries] == [None, "status"]
        assert cluster.entries[1]["fieldsV1"] == {"f:status": {"f:phase": {}}}


class TestOrderAndNumber:
    def test_appliers_come_first_then_the_oldest_then_by_name(self, cluster: Cluster) -> None:
        same_time = "2024-01-01T00:00:00Z"
        cluster.put("z", config_map({"a": "1"}), now=same_time)
        for number, name in enumerate(("y", "m", "n")):
            value = {**cluster.object["data"], name: str(number)}
            cluster.put(name, {**cluster.object, "data": value}, now=same_time)
        cluster.apply("late", config_map({"l": "1"}))
        cluster.put("a", {**cluster.object, "data": {**cluster.object["data"], "q": "1"}})
        assert list(cluster.owners) == ["late", "m", "n", "y", "z", "a"]

    def test_more_than_ten_updaters_become_ten(self, cluster: Cluster) -> None:
        keys: dict[str, str] = {}
        for number in range(12):
            keys[f"k{number:02}"] = "v"
            cluster.put(f"m{number:02}", config_map(dict(keys)))
        names = [entry["manager"] for entry in cluster.entries]
        assert names == ["ancient-changes", *(f"m{number:02}" for number in range(3, 12))]
        assert cluster.owned_by("ancient-changes") == {
            "f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}}
        }
        assert cluster.entries[0]["time"] == "2024-01-01T00:00:03Z"

    def test_appliers_are_not_counted(self, cluster: Cluster) -> None:
        for number in range(12):
            cluster.apply(f"m{number:02}", config_map({f"k{number}": "v"}))
        cluster.put("upd", {**cluster.object, "data": {**cluster.object["data"], "z": "1"}})
        assert len(cluster.entries) == 13


class TestEntriesSentByClients:
    def sends(self, cluster: Cluster, sent: Any, **more: str) -> None:
        value = config_map({**cluster.object["data"], **more})
        value["metadata"]["managedFields"] = sent
        cluster.put("sender", value)

    @pytest.fixture
    def tracked(self, cluster: Cluster) -> Cluster:
        cluster.put("a", config_map({"x": "1"}))
        return cluster

    def test_managed_fields_that_are_not_sent_stay(self, tracked: Cluster) -> None:
        tracked.put("b", config_map({"x": "1"}))
        assert list(tracked.owners) == ["a"]

    def test_managed_fields_of_null_leave_the_live_ones(self, tracked: Cluster) -> None:
        self.sends(tracked, None)
        assert list(tracked.owners) == ["a"]

    def test_managed_fields_with_one_empty_entry_reset_ownership(self, tracked: Cluster) -> None:
        self.sends(tracked, [{}])
        assert tracked.entries == []

    def test_an_empty_list_resets_in_the_kubernetes_dialect(self, tracked: Cluster) -> None:
        self.sends(tracked, [])
        assert tracked.entries == []

    def test_an_empty_list_does_not_reset_in_the_cluster_dialect(self, tracked: Cluster) -> None:
        tracked.dialect = CLUSTER
        self.sends(tracked, [])
        assert list(tracked.owners) == ["a"]

    def test_a_reset_with_changes_leaves_nothing_in_the_kubernetes_dialect(
        self, tracked: Cluster
    ) -> None:
        self.sends(tracked, [{}], y="2")
        assert tracked.entries == []

    def test_a_reset_with_changes_makes_the_sender_their_owner_in_the_cluster_dialect(
        self, tracked: Cluster
    ) -> None:
        tracked.dialect = CLUSTER
        self.sends(tracked, [{}], y="2")
        assert tracked.owners == {"sender": data("y")}

    def test_managed_fields_that_were_reset_are_not_tracked_by_later_updates(
        self, tracked: Cluster
    ) -> None:
        self.sends(tracked, [{}])
        tracked.put("b", config_map({"x": "2"}))
        assert tracked.entries == []

    def test_managed_fields_that_are_valid_replace_the_live_ones(self, tracked: Cluster) -> None:
        entry = {
            "manager": "mine",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2024-01-01T02:00:00+02:00",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:x": {".": {}}}},
        }
        self.sends(tracked, [entry])
        assert tracked.entries == [{**entry, "time": "2024-01-01T00:00:00Z", "fieldsV1": data("x")}]

    @pytest.mark.parametrize("operation", ["Apply", "Update"])
    def test_an_entry_that_owns_nothing_is_dropped(self, tracked: Cluster, operation: str) -> None:
        entry = {
            "manager": "mine",
            "operation": operation,
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {},
        }
        self.sends(tracked, [entry], y="1")
        assert [(entry["manager"], entry["fieldsV1"]) for entry in tracked.entries] == [
            ("sender", data("y"))
        ]
        self.sends(tracked, [entry])
        assert tracked.entries == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"operation": "Other"},
            {"apiVersion": ""},
            {"fieldsType": "FieldsV2"},
            {"fieldsV1": []},
            {"fieldsV1": {"k:nonsense": {}}},
            {"time": "yesterday"},
            {"manager": 5},
        ],
        ids=str,
    )
    def test_managed_fields_that_are_invalid_are_ignored(
        self, tracked: Cluster, wrong: Any
    ) -> None:
        self.sends(tracked, [{**tracked.entries[0], **wrong}])
        assert list(tracked.owners) == ["a"]

    def test_a_subresource_cannot_send_entries(self, tracked: Cluster) -> None:
        value = config_map({"x": "1"}, managedFields=[{}])
        tracked.put("b", value, subresource="status")
        assert list(tracked.owners) == ["a"]


class TestUntrackable:
    def test_items_that_cannot_be_told_apart_leave_the_object_without_owners(self) -> None:
        cluster = Cluster(POD)
        env = [{"name": "E", "value": "a"}, {"name": "E", "value": "b"}]
        cluster.put("a", {"metadata": {}, "spec": {"containers": [{"name": "c", "env": env}]}})
        assert cluster.entries == []


class TestSchemaChanges:
    GRANULAR = custom({"spec": struct({"a": SCALARS["string"], "b": SCALARS["string"]})})
    ATOMIC = custom({"spec": struct({"a": SCALARS["string"], "b": SCALARS["string"]}, atomic=True)})

    def test_granular_to_atomic_gives_the_whole_to_who_owned_a_part(self) -> None:
        cluster = Cluster(self.GRANULAR)
        cluster.put("a", {"metadata": {}, "spec": {"a": "1"}})
        cluster.versions = OneVersion("v1", self.ATOMIC)
        cluster.put("b", {"metadata": {"labels": {"x": "y"}}, "spec": {"a": "1"}})
        assert cluster.owned_by("a") == {"f:spec": {}}

    def test_atomic_to_granular_leaves_the_top_owned(self) -> None:
        cluster = Cluster(self.ATOMIC)
        cluster.put("a", {"metadata": {}, "spec": {"a": "1"}})
        cluster.versions = OneVersion("v1", self.GRANULAR)
        cluster.put("b", {"metadata": {}, "spec": {"a": "2"}})
        assert cluster.owners == {"a": {"f:spec": {}}, "b": {"f:spec": {"f:a": {}}}}

    def test_an_entry_of_a_version_no_longer_served_goes_with_the_next_change(
        self, cluster: Cluster
    ) -> None:
        cluster.put("old", config_map({"x": "1"}))
        cluster.api_version = "v2"
        cluster.versions = OneVersion("v2", CONFIG_MAP)
        cluster.put("new", config_map({"x": "1", "y": "1"}))
        assert list(cluster.owners) == ["new"]

    def test_a_list_that_becomes_atomic_is_owned_as_a_whole(self) -> None:
        set_list = custom({"set": ListOf(SCALARS["string"], "set")})
        atomic_list = custom({"set": ListOf(SCALARS["string"])})
        cluster = Cluster(set_list)
        cluster.apply("a", {"apiVersion": "v1", "metadata": {}, "set": ["x"]})
        cluster.versions = OneVersion("v1", atomic_list)
        cluster.put("b", {"metadata": {"labels": {"l": "m"}}, "set": ["x"]})
        assert cluster.owned_by("a") == {"f:set": {}}


def test_a_patch_that_changes_nothing_keeps_the_list_itself() -> None:
    live = config_map({"x": "1"})
    options: Any = {"api_version": "v1", "dialect": KUBERNETES, "now": "2024-01-01T00:00:00Z"}
    versions = OneVersion("v1", CONFIG_MAP)
    entries = track_update(versions, None, live, manager="a", **options)
    live["metadata"]["managedFields"] = entries
    again = track_update(versions, live, {**live, "data": {"x": "1"}}, manager="b", **options)
    assert again is entries
