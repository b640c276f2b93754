"""How endpoints are packed into slices, and addresses into subsets."""

from __future__ import annotations

from fairlead.controllers.service_endpoints.ports import Port
from fairlead.controllers.service_endpoints.slice_index import Plan
from fairlead.controllers.service_endpoints.slice_packer import Identity, identity, pack
from fairlead.controllers.service_endpoints.subsets import Offer, packed, truncated
from fairlead.operations.api import Object

LABELS = {"l": "v"}


def endpoint(number: int, ready: bool = True) -> Object:
    return {
        "addresses": [f"10.0.{number // 250}.{number % 250}"],
        "conditions": {"ready": ready},
        "targetRef": {"namespace": "n", "name": f"p{number}"},
    }


def wanted(*numbers: int) -> dict[Identity, Object]:
    return {identity(endpoint(number)): endpoint(number) for number in numbers}


def a_slice(name: str, *numbers: int) -> Object:
    metadata = {"name": name, "labels": LABELS}
    return {"metadata": metadata, "endpoints": [endpoint(number) for number in numbers]}


def planned(existing: list[Object], *numbers: int, maximum: int = 3) -> Plan:
    return pack(existing, wanted(*numbers), LABELS, lambda: {"endpoints": None}, maximum)


def sizes(slices: list[Object]) -> list[int]:
    return [len(slice_["endpoints"]) for slice_ in slices]


def names(slices: list[Object]) -> list[str]:
    return [slice_["metadata"]["name"] for slice_ in slices]


def test_new_endpoints_fill_new_slices() -> None:
    plan = planned([], *range(7))
    assert sizes(plan.create) == [3, 3, 1]
    assert not plan.update
    assert not plan.delete


def test_what_is_right_is_not_written() -> None:
    assert planned([a_slice("a", 1, 2), a_slice("b", 3)], 1, 2, 3) == Plan()


def test_a_lost_endpoint_makes_room_for_a_new_one() -> None:
    plan = planned([a_slice("a", 1, 2, 3), a_slice("b", 4)], 1, 2, 4, 5)
    assert names(plan.update) == ["a"]
    assert sizes(plan.update) == [3]
    assert not plan.create


def test_slices_that_change_anyway_are_filled_first_the_fullest_before_others() -> None:
    existing = [a_slice("a", 1, 2), a_slice("b", 3, 4, 5), a_slice("c", 6)]
    plan = planned(existing, 1, 3, 4, 6, 7, 8)
    assert names(plan.update) == ["a", "b"]
    assert sizes(plan.update) == [2, 3]


def test_the_rest_goes_into_the_fullest_slice_that_has_room_for_all_of_it() -> None:
    existing = [a_slice("a", 1, 2), a_slice("b", 3), a_slice("c")]
    plan = planned(existing, 1, 2, 3, 4, 5)
    assert names(plan.update) == ["b"]
    plan = planned(existing, 1, 2, 3, 4)
    assert names(plan.update) == ["a"]


def test_what_fits_nowhere_gets_a_new_slice() -> None:
    plan = planned([a_slice("a", 1, 2), a_slice("b", 3, 4)], 1, 2, 3, 4, 5, 6)
    assert not plan.update
    assert sizes(plan.create) == [2]


def test_a_slice_that_nothing_is_left_of_goes() -> None:
    plan = planned([a_slice("a", 1), a_slice("b", 2)], 2)
    assert names(plan.delete) == ["a"]
    assert not plan.update


def test_an_endpoint_that_changed_stays_in_its_slice() -> None:
    changed = endpoint(1, ready=False)
    plan = pack([a_slice("a", 1, 2)], {**wanted(2), identity(changed): changed}, LABELS, dict)
    assert plan.update[0]["endpoints"] == [changed, endpoint(2)]


def test_other_labels_are_written_to_every_slice() -> None:
    plan = pack([a_slice("a", 1), a_slice("b", 2)], wanted(1, 2), {"l": "w"}, dict)
    assert [item["metadata"]["labels"] for item in plan.update] == [{"l": "w"}] * 2


HTTP, DNS = Port("http", 80, "TCP", None), Port("dns", 53, "UDP", None)


def address(number: int) -> Object:
    return {"ip": f"10.0.0.{number}"}


def test_ports_of_the_same_addresses_share_a_subset() -> None:
    offers: list[Offer] = [((HTTP, DNS), [(address(number), True)]) for number in (2, 1)]
    (subset,) = packed(offers)
    assert subset["addresses"] == [address(1), address(2)]
    assert len(subset["ports"]) == 2
    first, other = packed([*offers, ((HTTP,), [(address(3), False)])])
    assert [len(part["ports"]) for part in (first, other)] == [1, 1]


def test_an_address_that_is_called_both_is_not_ready() -> None:
    offers: list[Offer] = [((HTTP,), [(address(1), ready)]) for ready in (True, False, True)]
    assert packed(offers)[0]["notReadyAddresses"] == [address(1)]


def many(count: int) -> list[Object]:
    return [{"ip": f"10.1.{number // 250}.{number % 250}"} for number in range(count)]


def test_a_thousand_addresses_are_not_too_many() -> None:
    assert truncated([{"addresses": many(600), "notReadyAddresses": many(400)}]) is None


def test_those_that_are_not_ready_are_left_out_first() -> None:
    (left,) = truncated([{"addresses": many(900), "notReadyAddresses": many(400)}]) or []
    assert (len(left["addresses"]), len(left["notReadyAddresses"])) == (900, 100)


def test_each_subset_keeps_its_share_of_a_thousand() -> None:
    subsets = [
        {"addresses": many(1500), "notReadyAddresses": many(5)},
        {"addresses": many(500)},
        {"notReadyAddresses": many(7)},
    ]
    left = truncated(subsets) or []
    assert [len(item["addresses"]) for item in left] == [750, 250]
    assert not any("notReadyAddresses" in item for item in left)
