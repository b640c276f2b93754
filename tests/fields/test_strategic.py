"""Strategic merge patch: what merges, what is replaced, and the directives."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from support.patching import CONFIG_MAP, POD, TYPES, Object, objects_of
from support.strategic_diff import strategic_diff

from fairlead.codec.types.model import Struct
from fairlead.fields.errors import MalformedPatch, OperationFailed, UnsupportedPatch
from fairlead.fields.strategic import apply_strategic_patch, strategic_document

DEPLOYMENT = TYPES.struct("apps/v1.Deployment")
SERVICE = TYPES.struct("core/v1.Service")
BUDGET = TYPES.struct("policy/v1.PodDisruptionBudget")


def patched(kind: Any, document: Any, patch: Any) -> Any:
    before = copy.deepcopy((document, patch))
    result = apply_strategic_patch(kind, document, patch)
    assert (document, patch) == before
    return result


def containers(original: list[Any], patch: list[Any], **more: Any) -> list[Any]:
    document = {"spec": {"containers": original}}
    result = patched(POD, document, {"spec": {"containers": patch, **more}})
    value: list[Any] = result["spec"]["containers"]
    return value


def finalizers(original: list[Any], **patch: Any) -> Any:
    result = patched(CONFIG_MAP, {"metadata": {"finalizers": original}}, {"metadata": patch})
    return result["metadata"].get("finalizers")


class TestObjects:
    def test_members_are_merged_and_null_removes(self) -> None:
        document = {"data": {"a": "1", "b": "2"}}
        result = patched(CONFIG_MAP, document, {"data": {"a": None, "c": "3"}})
        assert result == {"data": {"b": "2", "c": "3"}}

    def test_replace_puts_the_patch_in_place_of_an_object(self) -> None:
        patch = {"data": {"$patch": "replace", "z": "26"}}
        result = patched(CONFIG_MAP, {"data": {"a": "1"}}, patch)
        assert result == {"data": {"z": "26"}}

    def test_delete_empties_an_object(self) -> None:
        assert patched(CONFIG_MAP, {"data": {"a": "1"}}, {"data": {"$patch": "delete"}}) == {
            "data": {}
        }

    @pytest.mark.parametrize("directive", ["merge", "bogus", 5])
    def test_other_directives_are_not_supported(self, directive: Any) -> None:
        with pytest.raises(UnsupportedPatch, match="unknown patch type"):
            patched(CONFIG_MAP, {"data": {"a": "1"}}, {"data": {"$patch": directive}})

    def test_kind_and_version_are_not_changed(self) -> None:
        head = {"apiVersion": "v1", "kind": "ConfigMap"}
        assert patched(CONFIG_MAP, head, {"kind": "Secret", "apiVersion": "v2"}) == head

    def test_atomic_structs_are_merged_all_the_same(self) -> None:
        document = {"spec": {"selector": {"a": "b"}}}
        result = patched(SERVICE, document, {"spec": {"selector": {"c": "d"}}})
        assert result == {"spec": {"selector": {"a": "b", "c": "d"}}}

    def test_a_field_with_the_replace_strategy_is_replaced(self) -> None:
        document = {"spec": {"selector": {"matchLabels": {"a": "b"}}}}
        selector = {"matchLabels": {"c": "d"}}
        result = patched(BUDGET, document, {"spec": {"selector": selector}})
        assert result["spec"]["selector"] == selector

    def test_new_members_come_without_nulls(self) -> None:
        patch = {"spec": {"template": {"x": None, "y": [{"z": None}]}}}
        assert patched(DEPLOYMENT, {}, patch) == {"spec": {"template": {"y": [{}]}}}

    @pytest.mark.parametrize(
        "members",
        [
            {"volumes": [{"name": "a", "$patch": "delete"}]},
            {"affinity": {"$patch": "delete"}},
            {"nodeSelector": {"$retainKeys": ["a"], "a": "b"}},
        ],
    )
    def test_directives_for_what_is_not_there_are_plain_members(self, members: Object) -> None:
        patch = {"spec": {"template": {"spec": members}}}
        document: Object = {"spec": {"template": {"spec": {"containers": []}}}}
        result = patched(DEPLOYMENT, document, patch)
        assert result["spec"]["template"]["spec"] == {"containers": [], **members}

    def test_a_value_of_another_type_takes_over(self) -> None:
        assert patched(CONFIG_MAP, {"data": {"a": "1"}}, {"data": "text"}) == {"data": "text"}

    def test_null_is_an_empty_patch(self) -> None:
        assert strategic_document(None) == {}

    def test_the_document_must_be_an_object(self) -> None:
        with pytest.raises(MalformedPatch) as refused:
            strategic_document([{}])
        assert str(refused.value) == (
            "json: cannot unmarshal array into Go value of type map[string]interface {}"
        )


class TestRetainKeys:
    def test_retain_keys_removes_all_other_members(self) -> None:
        document = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}}
        strategy = {"$retainKeys": ["type"], "type": "Recreate"}
        result = patched(DEPLOYMENT, document, {"spec": {"strategy": strategy}})
        assert result["spec"]["strategy"] == {"type": "Recreate"}

    @pytest.mark.parametrize("wrong", [{"$retainKeys": "type"}, {"$retainKeys": [], "type": "x"}])
    def test_retain_keys_must_name_every_member_of_the_patch(self, wrong: Any) -> None:
        document = {"spec": {"strategy": {"type": "RollingUpdate"}}}
        with pytest.raises(MalformedPatch, match="invalid patch format of retainKeys"):
            patched(DEPLOYMENT, document, {"spec": {"strategy": wrong}})


class TestKeyedLists:
    def test_items_with_the_same_key_are_merged(self) -> None:
        result = containers([{"name": "a", "image": "i"}], [{"name": "a", "tty": True}])
        assert result == [{"name": "a", "image": "i", "tty": True}]

    def test_new_items_come_first(self) -> None:
        result = containers([{"name": "a"}, {"name": "b"}], [{"name": "c"}])
        assert [item["name"] for item in result] == ["c", "a", "b"]

    def test_items_of_the_patch_keep_its_order_and_the_others_their_places(self) -> None:
        names = containers([{"name": n} for n in "abcd"], [{"name": n} for n in ("d", "x", "b")])
        assert "".join(item["name"] for item in names) == "acdxb"

    def test_an_item_is_deleted_by_its_key(self) -> None:
        result = containers([{"name": "a"}, {"name": "b"}], [{"name": "a", "$patch": "delete"}])
        assert result == [{"name": "b"}]

    def test_replace_in_an_element_leaves_only_the_others_of_the_patch(self) -> None:
        patch = [{"name": "a", "$patch": "replace"}, {"name": "b"}]
        assert containers([{"name": "a"}, {"name": "c"}], patch) == [{"name": "b"}]

    def test_lists_are_merged_at_any_depth(self) -> None:
        result = containers(
            [{"name": "a", "env": [{"name": "E", "value": "1"}], "args": ["x"]}],
            [{"name": "a", "env": [{"name": "F", "value": "2"}], "args": ["y"]}],
        )
        assert result == [
            {
                "name": "a",
                "env": [{"name": "F", "value": "2"}, {"name": "E", "value": "1"}],
                "args": ["y"],
            }
        ]

    def test_the_merge_key_may_be_fewer_fields_than_apply_uses(self) -> None:
        document = {"spec": {"ports": [{"port": 80, "protocol": "UDP"}]}}
        result = patched(SERVICE, document, {"spec": {"ports": [{"port": 80, "name": "x"}]}})
        assert result["spec"]["ports"] == [{"port": 80, "protocol": "UDP", "name": "x"}]

    @pytest.mark.parametrize(
        "element", [{"image": "i"}, {"$patch": "delete"}, {"name": "a", "$patch": "merge"}]
    )
    def test_elements_need_their_key_and_a_known_directive(self, element: Any) -> None:
        with pytest.raises(UnsupportedPatch):
            containers([{"name": "a"}], [element])

    def test_elements_of_different_types_are_not_supported(self) -> None:
        with pytest.raises(UnsupportedPatch, match="list element types are not identical"):
            containers([{"name": "a"}], ["text"])

    def test_atomic_lists_are_replaced(self) -> None:
        document = {"spec": {"tolerations": [{"key": "a"}]}}
        result = patched(POD, document, {"spec": {"tolerations": [{"key": "b"}]}})
        assert result["spec"]["tolerations"] == [{"key": "b"}]


class TestScalarLists:
    def test_values_are_joined_those_of_the_patch_first(self) -> None:
        assert finalizers(["a", "b", "c"], finalizers=["d", "a"]) == ["d", "a", "b", "c"]

    def test_values_are_deleted(self) -> None:
        patch = {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}
        assert finalizers(["a", "b"], **patch) == ["b"]

    def test_values_are_deleted_and_added(self) -> None:
        patch = {"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["e"]}
        assert finalizers(["d", "b", "c"], **patch) == ["e", "d", "c"]

    @pytest.mark.parametrize("values", ["text", {}])
    def test_a_deletion_of_another_type_is_ignored(self, values: Any) -> None:
        assert finalizers(["a"], **{"$deleteFromPrimitiveList/finalizers": values}) == ["a"]

    def test_a_deletion_from_what_is_no_list_is_a_merge(self) -> None:
        document = {"metadata": {"labels": {"a": "1"}}}
        patch = {"metadata": {"$deleteFromPrimitiveList/labels": {"b": "2"}}}
        assert patched(CONFIG_MAP, document, patch)["metadata"]["labels"] == {"a": "1", "b": "2"}

    @pytest.mark.parametrize("name", ["", "finalizers", "x/finalizers"])
    def test_a_deletion_must_name_its_list(self, name: str) -> None:
        with pytest.raises(MalformedPatch, match="invalid patch format of primitive list"):
            finalizers(["a"], **{f"$deleteFromPrimitiveList{name}": ["a"]})

    def test_lists_of_lists_are_not_merged(self) -> None:
        with pytest.raises(OperationFailed):
            finalizers([["a"]], finalizers=[["b"]])

    def test_null_removes_the_list(self) -> None:
        assert finalizers(["a"], finalizers=None) is None


class TestSetElementOrder:
    def test_the_order_is_that_of_the_directive(self) -> None:
        order = {"$setElementOrder/containers": [{"name": n} for n in "cab"]}
        result = containers([{"name": "a"}, {"name": "b"}], [{"name": "c"}], **order)
        assert "".join(item["name"] for item in result) == "cab"

    def test_a_list_can_be_reordered_alone(self) -> None:
        result = finalizers(["a", "b"], **{"$setElementOrder/finalizers": ["b", "a"]})
        assert result == ["b", "a"]

    def test_the_order_must_name_what_the_patch_brings(self) -> None:
        with pytest.raises(UnsupportedPatch, match="doesn't match"):
            finalizers(["a"], **{"$setElementOrder/finalizers": ["a"], "finalizers": ["b"]})

    def test_element_order_that_is_empty_is_none(self) -> None:
        patch = {"$setElementOrder/finalizers": [], "finalizers": ["b"]}
        assert sorted(finalizers(["a"], **patch)) == ["a", "b"]

    def test_only_lists_of_the_type_have_an_order(self) -> None:
        with pytest.raises(UnsupportedPatch, match=r'in struct ObjectMeta .* field "bogus"'):
            finalizers(["a"], **{"$setElementOrder/bogus": ["a"]})
        with pytest.raises(UnsupportedPatch, match="expected slice or array type"):
            finalizers(["a"], **{"$setElementOrder/name": ["a"]})

    def test_element_order_of_a_map_is_refused(self) -> None:
        document = {"metadata": {"labels": {"a": "1"}}}
        with pytest.raises(UnsupportedPatch, match="data type is not struct, instead is: map"):
            patched(CONFIG_MAP, document, {"metadata": {"labels": {"$setElementOrder/x": ["a"]}}})

    @pytest.mark.parametrize("name", ["", "finalizers", "x/finalizers"])
    def test_the_order_must_name_its_list(self, name: str) -> None:
        with pytest.raises(MalformedPatch, match="invalid patch format of setElementOrder list"):
            finalizers(["a"], **{f"$setElementOrder{name}": ["a"]})

    def test_the_order_must_be_a_list(self) -> None:
        with pytest.raises(UnsupportedPatch, match="expected a list"):
            finalizers(["a"], **{"$setElementOrder/finalizers": "a"})


@pytest.mark.parametrize("kind", [POD, DEPLOYMENT, SERVICE], ids=lambda kind: kind.name)
def test_the_patch_of_a_difference_restores_the_target(kind: Struct) -> None:
    @given(objects_of(kind, first_key=True), objects_of(kind, first_key=True))
    def restores(original: Object, modified: Object) -> None:
        patch = strategic_diff(kind, original, modified)
        assert apply_strategic_patch(kind, original, patch) == modified

    restores()
