"""Apply: merging, conflicts, shared and given-up fields, and fields that it leaves unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from support.patching import (
    CONFIG_MAP,
    EVERYTHING,
    POD_TEMPLATE,
    STATUS,
    TYPES,
    Cluster,
    config_map,
    data,
    pod_template,
)

from fairlead.fields.conflicts import ApplyConflict, BadConfiguration, InvalidConfiguration
from fairlead.fields.typed_values import merge


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(CONFIG_MAP)


@pytest.fixture
def pods() -> Cluster:
    return Cluster(POD_TEMPLATE)


def spec_of(value: Any) -> Any:
    return value["template"]["spec"]


def refused(cluster: Cluster, manager: str, config: Any, **facts: Any) -> ApplyConflict:
    before = cluster.live
    with pytest.raises(ApplyConflict) as conflict:
        cluster.apply(manager, config, **facts)
    assert cluster.live is before
    return conflict.value


class TestOwnership:
    def test_create_by_apply(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        assert cluster.object["data"] == {"x": "1"}
        assert cluster.entries == [
            {
                "manager": "aa",
                "operation": "Apply",
                "apiVersion": "v1",
                "time": "2024-01-01T00:00:01Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": data("x"),
            }
        ]

    def test_another_value_for_a_field_of_another_manager_is_a_conflict(
        self, cluster: Cluster
    ) -> None:
        cluster.apply("aa", config_map({"x": "1", "y": "2"}))
        conflict = refused(cluster, "bb", config_map({"x": "9"}))
        assert str(conflict) == 'Apply failed with 1 conflict: conflict with "aa": .data.x'
        assert [(c.field, c.message) for c in conflict.conflicts] == [
            (".data.x", 'conflict with "aa"')
        ]

    def test_force_takes_the_field_over(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1", "y": "2"}))
        cluster.apply("bb", config_map({"x": "9"}), force=True)
        assert cluster.object["data"] == {"x": "9", "y": "2"}
        assert cluster.owners == {"aa": data("y"), "bb": data("x")}

    def test_the_same_value_shares_the_field(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1", "y": "2"}))
        cluster.apply("bb", config_map({"x": "1"}))
        assert cluster.owners == {"aa": data("x", "y"), "bb": data("x")}

    def test_an_apply_that_changes_ownership_only_has_no_time_and_comes_first(
        self, cluster: Cluster
    ) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        cluster.apply("bb", config_map({"x": "1"}))
        assert [(entry["manager"], "time" in entry) for entry in cluster.entries] == [
            ("bb", False),
            ("aa", True),
        ]

    def test_a_shared_field_conflicts_with_every_other_owner(self, cluster: Cluster) -> None:
        for manager in ("aa", "bb", "cc"):
            cluster.apply(manager, config_map({"x": "1"}))
        conflict = refused(cluster, "aa", config_map({"x": "5"}))
        assert str(conflict) == (
            'Apply failed with 2 conflicts: conflicts with "bb":\n- .data.x\n'
            'conflicts with "cc":\n- .data.x'
        )

    def test_ownership_is_handed_over_by_sharing_and_giving_up(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        cluster.apply("bb", config_map({"x": "1"}))
        cluster.apply("aa", config_map())
        assert cluster.object["data"] == {"x": "1"}
        assert cluster.owners == {"bb": data("x")}
        cluster.apply("bb", config_map({"x": "2"}))

    def test_updaters_are_named_with_their_version(self, cluster: Cluster) -> None:
        cluster.put("upd", config_map({"x": "1"}))
        conflict = refused(cluster, "aa", config_map({"x": "2"}))
        assert conflict.conflicts[0].message == 'conflict with "upd" using v1'

    def test_applying_over_a_map_claims_it_when_nothing_is_in_it(self, cluster: Cluster) -> None:
        cluster.put("upd", config_map({"x": "1"}))
        cluster.apply("aa", config_map({}))
        assert cluster.owned_by("aa") == {"f:data": {}}
        assert cluster.object["data"] == {"x": "1"}

    def test_many_conflicts_are_listed_by_owner(self, pods: Cluster) -> None:
        spec: Any = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"a": "b"}}
        pods.apply("aa", pod_template(spec))
        pods.apply("bb", pod_template({"dnsPolicy": "Default"}, labels={"l": "m"}))
        metadata = {**pods.object["metadata"], "labels": {"l": "m", "u": "v"}}
        pods.put("upd", {**pods.object, "metadata": metadata})
        spec = {
            "containers": [{"name": "c", "image": "x"}],
            "nodeSelector": {"a": "x"},
            "dnsPolicy": "None",
        }
        conflict = refused(pods, "cc", pod_template(spec, labels={"l": "x", "u": "x"}))
        assert str(conflict) == (
            'Apply failed with 5 conflicts: conflicts with "aa":\n'
            "- .template.spec.nodeSelector\n"
            '- .template.spec.containers[name="c"].image\n'
            'conflicts with "bb":\n'
            "- .metadata.labels.l\n"
            "- .template.spec.dnsPolicy\n"
            'conflicts with "upd" using v1:\n'
            "- .metadata.labels.u"
        )


class TestGivingUp:
    def test_given_up_field_without_another_owner_is_removed(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1", "y": "2"}))
        cluster.apply("aa", config_map({"y": "2"}))
        assert cluster.object["data"] == {"y": "2"}

    def test_given_up_field_with_another_owner_stays(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        cluster.put("upd", {**cluster.object, "data": {"x": "2"}})
        cluster.apply("aa", config_map())
        assert cluster.object["data"] == {"x": "2"}

    def test_unowned_defaults_inside_a_given_up_item_go_with_it(self, pods: Cluster) -> None:
        pods.apply("aa", pod_template({"containers": [{"name": "a"}, {"name": "b"}]}))
        live = pods.object
        defaulted = [{**item, "imagePullPolicy": "Always"} for item in spec_of(live)["containers"]]
        pods.live = {**live, "template": {"spec": {"containers": defaulted}}}
        pods.apply("aa", pod_template({"containers": [{"name": "a"}]}))
        assert spec_of(pods.object)["containers"] == [{"name": "a", "imagePullPolicy": "Always"}]

    def test_an_item_of_which_another_owns_a_part_keeps_that_part_and_its_key(
        self, pods: Cluster
    ) -> None:
        env = {"env": [{"name": "E", "value": "e"}]}
        pods.apply("aa", pod_template({"containers": [{"name": "a"}, {"name": "b", "image": "i"}]}))
        pods.apply("bb", pod_template({"containers": [{"name": "b", **env}]}))
        pods.apply("aa", pod_template({"containers": [{"name": "a"}]}))
        assert spec_of(pods.object)["containers"] == [{"name": "a"}, {"name": "b", **env}]

    def test_a_struct_goes_with_its_last_owner(self, pods: Cluster) -> None:
        pods.apply("aa", pod_template({"containers": [{"name": "a"}]}, labels={"x": "y"}))
        pods.apply("aa", pod_template())
        assert "template" not in pods.object
        assert "labels" not in pods.object["metadata"]
        assert pods.entries == []

    def test_values_of_a_set_are_given_up_one_by_one(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map(finalizers=["a", "b"]))
        cluster.apply("bb", config_map(finalizers=["c", "a"]))
        cluster.apply("aa", config_map(finalizers=["b"]))
        assert cluster.object["metadata"]["finalizers"] == ["c", "a", "b"]
        cluster.apply("bb", config_map(finalizers=[]))
        assert cluster.object["metadata"]["finalizers"] == ["b"]

    def test_given_up_atomic_map_goes_as_a_whole(self, pods: Cluster) -> None:
        pods.apply("aa", pod_template({"nodeSelector": {"a": "b"}, "hostNetwork": True}))
        pods.apply("aa", pod_template({"hostNetwork": True}))
        assert spec_of(pods.object) == {"hostNetwork": True, "containers": None}

    def test_fields_that_never_had_an_owner_stay(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        cluster.live = {**cluster.object, "immutable": True}
        cluster.apply("aa", config_map())
        assert cluster.object["immutable"] is True


class TestMerging:
    def merged(self, live: Any, config: Any) -> Any:
        cluster = Cluster(EVERYTHING)
        head = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}}
        cluster.put("x", {**head, **live})
        return cluster.apply("y", {**head, **config}, force=True)

    @pytest.mark.parametrize(
        ("live", "config", "order"),
        [
            ("ab", "cb", "acb"),
            ("ab", "ca", "cab"),
            ("ab", "ba", "ba"),
            ("abx", "ba", "bxa"),
            ("a", "b", "ab"),
            ("abcd", "xcya", "bxcdya"),
        ],
    )
    def test_the_order_of_the_configuration_wins(self, live: str, config: str, order: str) -> None:
        merged = merge(EVERYTHING, {"set": list(live)}, {"set": list(config)})
        assert "".join(merged["set"]) == order

    def test_an_order_alone_changes_nothing(self) -> None:
        assert self.merged({"set": ["a", "b"]}, {"set": ["b", "a"]})["set"] == ["a", "b"]

    def test_items_are_merged_by_all_their_keys(self) -> None:
        live = [{"name": "a", "port": 1, "v": "x"}, {"name": "a", "port": 80}]
        config = [{"name": "a", "v": "y"}]
        assert self.merged({"items": live}, {"items": config})["items"] == [
            {"name": "a", "port": 1, "v": "x"},
            {"name": "a", "port": 80, "v": "y"},
        ]

    def test_atomic_values_are_replaced(self) -> None:
        live = {"whole": {"a": "x", "b": 1}, "one": {"k": "v"}, "list": ["a", "b"]}
        config = {"whole": {"a": "y"}, "one": {"l": "w"}, "list": ["c"]}
        result = self.merged(live, config)
        assert {name: result[name] for name in config} == config

    def test_null_and_nothing_keep_what_is_there(self) -> None:
        live = {"inner": {"a": "x"}, "set": ["a"], "parts": {"k": "v"}}
        result = self.merged(live, {"inner": None, "set": [], "parts": {}})
        assert {name: result[name] for name in live} == live

    def test_a_scalar_can_be_set_to_null(self) -> None:
        assert self.merged({"text": "x"}, {"text": None})["text"] is None

    def test_free_objects_are_merged_and_free_lists_replaced(self) -> None:
        live = {"free": {"a": {"x": 1}, "l": [1, 2]}}
        result = self.merged(live, {"free": {"a": {"y": 2}, "l": [3]}})
        assert result["free"] == {"a": {"x": 1, "y": 2}, "l": [3]}

    def test_merge_tells_true_from_one(self) -> None:
        assert self.merged({"free": {"a": 1}}, {"free": {"a": True}})["free"]["a"] is True


class TestNothingToDo:
    def test_a_second_apply_returns_the_live_object_and_its_entries(self, pods: Cluster) -> None:
        config = pod_template({"containers": [{"name": "a", "image": "i"}]}, labels={"x": "y"})
        pods.apply("aa", config)
        live, entries = pods.object, pods.entries
        pods.apply("bb", config)
        pods.apply("bb", pod_template())
        assert pods.entries == entries
        result = pods.apply("aa", config)
        assert result == live
        assert pods.entries is not None
        assert pods.entries[0]["time"] == "2024-01-01T00:00:01Z"

    def test_an_apply_of_nothing_by_a_stranger_changes_nothing(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        before = cluster.entries
        cluster.apply("bb", config_map())
        assert cluster.entries is before


class TestFirstApply:
    def test_first_apply_gives_an_owner_to_fields_that_were_there_before(
        self, cluster: Cluster
    ) -> None:
        cluster.live = config_map({"x": "1"})
        cluster.apply("aa", config_map({"y": "1"}))
        assert cluster.owners == {
            "aa": data("y"),
            "before-first-apply": {"f:data": {".": {}, "f:x": {}}},
        }
        assert cluster.entries[1]["operation"] == "Update"

    def test_first_apply_conflicts_with_fields_that_were_there_before(
        self, cluster: Cluster
    ) -> None:
        cluster.live = config_map({"x": "1"})
        conflict = refused(cluster, "aa", config_map({"x": "2"}))
        assert conflict.conflicts[0].message == 'conflict with "before-first-apply" using v1'

    def test_items_that_cannot_be_told_apart_refuse_every_apply(self, pods: Cluster) -> None:
        env = [{"name": "E", "value": "a"}, {"name": "E", "value": "b"}]
        pods.live = pod_template({"containers": [{"name": "a", "env": env}]}, namespace="ns")
        with pytest.raises(InvalidConfiguration) as refusal:
            pods.apply("aa", pod_template(labels={"fine": "here"}))
        assert str(refusal.value) == (
            "failed to create manager for existing fields: failed to convert new object"
            " (ns/t; /v1, Kind=PodTemplate) to smd typed:"
            ' .template.spec.containers[name="a"].env: duplicate entries for key [name="E"]'
        )


class TestSubresources:
    def test_subresource_has_its_own_entries_and_ignores_other_fields(self) -> None:
        kind = TYPES.struct("core/v1.PersistentVolumeClaim")
        cluster = Cluster(kind, ignored=STATUS)
        head = {"apiVersion": "v1", "kind": kind.name, "metadata": {"name": "c"}}
        cluster.apply("aa", {**head, "spec": {"volumeName": "v"}, "status": {"phase": "x"}})
        status = {"subresource": "status", "ignored": {"f:spec": {}}}
        config = {**head, "spec": {"volumeName": "w"}, "status": {"phase": "Bound"}}
        cluster.apply("st", config, **status)
        assert [(e["manager"], e.get("subresource"), e["fieldsV1"]) for e in cluster.entries] == [
            ("aa", None, {"f:spec": {"f:volumeName": {}}}),
            ("st", "status", {"f:status": {"f:phase": {}}}),
        ]
        conflict = refused(cluster, "su", {**head, "status": {"phase": "Lost"}}, **status)
        assert conflict.conflicts[0].message == 'conflict with "st" with subresource "status"'

    def test_the_same_name_on_a_subresource_is_another_manager(self, cluster: Cluster) -> None:
        cluster.apply("aa", config_map({"x": "1"}))
        refused(cluster, "aa", config_map({"x": "2"}), subresource="status")


class TestRefusedConfigurations:
    def test_configuration_of_another_version_is_refused(self, cluster: Cluster) -> None:
        with pytest.raises(BadConfiguration) as refusal:
            cluster.apply("aa", {"apiVersion": "v2", "kind": "ConfigMap"})
        assert str(refusal.value) == (
            "Incorrect version specified in apply patch. Specified patch version: v2, expected: v1"
        )

    def test_configuration_that_is_empty_is_refused(self, cluster: Cluster) -> None:
        with pytest.raises(BadConfiguration, match="Specified patch version: , expected: v1"):
            cluster.apply("aa", {})

    def test_configuration_with_managed_fields_is_refused(self, cluster: Cluster) -> None:
        with pytest.raises(BadConfiguration, match=r"metadata\.managedFields must be nil"):
            cluster.apply("aa", config_map(managedFields=[]))

    def test_configuration_that_is_not_of_its_type_is_refused(self, cluster: Cluster) -> None:
        with pytest.raises(InvalidConfiguration) as refusal:
            cluster.apply("aa", config_map({"num": 5}))
        assert str(refusal.value) == (
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.num:"
            " expected string, got &value.valueUnstructured{Value:5}"
        )
