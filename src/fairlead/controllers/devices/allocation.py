"""Chooses devices for the requests of claims on one node, by backtracking.

A device fits a request if all selectors of its class and of the request match, its taints are
tolerated and it is free. Constraints hold for the devices of several requests of a claim. The work
draws from the meter, so that it ends wherever it runs; see `base/budget.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.base import meter
from fairlead.base.release import Release
from fairlead.controllers.devices.constraints import Constraint, Want
from fairlead.controllers.devices.pools import Device, DeviceKey
from fairlead.controllers.devices.results import allocation_of
from fairlead.controllers.devices.usage import Ledger, Usage
from fairlead.controllers.tolerations import is_tolerated
from fairlead.operations.api import Object
from fairlead.resources.resource.requests import MAX_REQUESTS
from fairlead.resources.resource.selectors import (
    Selector,
    SelectorError,
    compile_selector,
    device_value,
)

MAX_STEPS = 20_000  # tried devices for one pod on one node
_MICROSECONDS_PER_STEP = 10

Classes = Mapping[str, Object]  # by name


class AllocationError(Exception):
    """Devices cannot be allocated; the message says why."""


class AllocationTimeout(AllocationError):
    """The search took too long. A later search may succeed."""


class Matcher:
    """Evaluates the selectors of requests for one pod, once for each device."""

    def __init__(self, release: Release, classes: Classes) -> None:
        self._release = release
        self._classes = classes
        self._compiled: dict[str, Selector] = {}
        self._results: dict[tuple[DeviceKey, tuple[str, ...]], bool] = {}

    def candidates(self, devices: Sequence[Device], request: Object) -> list[Device]:
        """The devices that a request may get. Raises AllocationError if a selector fails."""
        tolerations = request.get("tolerations") or ()
        of_class = self._classes[request["deviceClassName"]]["spec"].get("selectors") or ()
        expressions = tuple(
            selector["cel"]["expression"]
            for selector in (*of_class, *(request.get("selectors") or ()))
            if selector.get("cel") is not None
        )
        return [
            device
            for device in devices
            if is_tolerated(device.value, tolerations) and self._matches(device, expressions)
        ]

    def _matches(self, device: Device, expressions: tuple[str, ...]) -> bool:
        key = device.key, expressions
        if key not in self._results:
            meter.spend(_MICROSECONDS_PER_STEP)
            value = device_value(device.key[0], device.value) if expressions else {}
            try:
                self._results[key] = all(
                    self._selector(text).matches(value)[0] for text in expressions
                )
            except SelectorError as error:
                raise AllocationError(f"selector of a device failed: {error}") from None
        return self._results[key]

    def _selector(self, text: str) -> Selector:
        compiled = self._compiled.get(text)
        if compiled is None:
            compiled = self._compiled[text] = compile_selector(text, self._release)
        return compiled


class Allocator:
    """Allocates devices on one node."""

    def __init__(
        self,
        node: str,
        devices: Sequence[Device],
        usage: Usage,
        classes: Classes,
        matcher: Matcher,
    ) -> None:
        self._node = node
        self._devices = devices
        self._usage = usage
        self._classes = classes
        self._matcher = matcher

    def allocate(self, claims: Sequence[Object]) -> list[Object]:
        """The allocations of the claims; raises AllocationError."""
        requests: list[list[Want]] = []
        constraints: list[list[Constraint]] = []
        for index, claim in enumerate(claims):
            devices = claim["spec"]["devices"]
            own = [self._alternatives(index, request) for request in devices["requests"] or ()]
            requests += own
            constraints.append(
                [Constraint(constraint, own) for constraint in devices.get("constraints") or ()]
            )
        can_hold = all(constraint.can_hold() for group in constraints for constraint in group)
        chosen = _Search(requests, constraints, Ledger(self._usage)).run() if can_hold else None
        if chosen is None:
            raise AllocationError("cannot allocate all claims")
        return [
            allocation_of(
                claim,
                [choice for choice in chosen if choice[0].claim == index],
                self._node,
                self._classes,
            )
            for index, claim in enumerate(claims)
        ]

    def _alternatives(self, claim: int, request: Object) -> list[Want]:
        """The alternatives of a request, in their order, without those that cannot be served."""
        if request.get("exactly") is not None:
            wants = [self._want(claim, request["name"], request["exactly"])]
        else:
            wants = [
                self._want(claim, f"{request['name']}/{alternative['name']}", alternative)
                for alternative in request.get("firstAvailable") or ()
            ]
        return [want for want in wants if 0 < want.number <= MAX_REQUESTS and want.candidates]

    def _want(self, claim: int, name: str, request: Object) -> Want:
        candidates = self._matcher.candidates(self._devices, request)
        is_for_all = request.get("allocationMode") == "All"
        number = len(candidates) if is_for_all else request.get("count") or 1
        return Want(claim, name, request, number, candidates)


class _Level:
    """A decision of the search: the alternative of a request (`want` is None), or one device of an
    alternative. `position` is the next option."""

    __slots__ = ("device", "end", "ordinal", "position", "request", "taken", "want")

    def __init__(self, request: int, want: Want | None = None, ordinal: int = 0) -> None:
        self.request = request
        self.want = want
        self.ordinal = ordinal
        self.position = 0
        self.end = 0
        self.taken: Want | None = None
        self.device: Device | None = None


class _Search:
    def __init__(
        self,
        requests: Sequence[Sequence[Want]],
        constraints: Sequence[Sequence[Constraint]],
        ledger: Ledger,
    ) -> None:
        self._requests = requests
        self._constraints = constraints
        self._ledger = ledger
        self._planned = [0] * len(constraints)  # devices of each claim
        self._chosen: list[tuple[Want, Device]] = []
        self._steps = 0

    def run(self) -> list[tuple[Want, Device]] | None:
        """The devices of all requests, or None. The stack of decisions is explicit: there may be
        more of them than Python allows nested calls."""
        if not self._requests:
            return []
        levels = [_Level(0)]
        while levels:
            level = levels[-1]
            self._undo(level)
            if not (self._next_alternative(level) if level.want is None else self._next(level)):
                levels.pop()
                continue
            following = self._following(level)
            if following is None:
                return self._chosen
            levels.append(following)
        return None

    def _undo(self, level: _Level) -> None:
        if level.taken is not None:
            self._planned[level.taken.claim] -= level.taken.number
            level.taken = None
        if level.device is not None and level.want is not None:
            self._chosen.pop()
            for constraint in self._constraints[level.want.claim]:
                if constraint.concerns(level.want):
                    constraint.remove()
            self._ledger.give_back(level.device)
            level.device = None

    def _next_alternative(self, level: _Level) -> bool:
        wants = self._requests[level.request]
        while level.position < len(wants):
            want = wants[level.position]
            level.position += 1
            if self._planned[want.claim] + want.number <= MAX_REQUESTS:
                self._planned[want.claim] += want.number
                level.taken = want
                return True
        return False

    def _next(self, level: _Level) -> bool:
        want = level.want
        assert want is not None
        while level.position < level.end:
            device = want.candidates[level.position]
            level.position += 1
            self._step()
            if not self._ledger.take(device, want.request, want.claim):
                continue
            if self._constrain(want, device):
                level.device = device
                self._chosen.append((want, device))
                return True
            self._ledger.give_back(device)
        return False

    def _constrain(self, want: Want, device: Device) -> bool:
        held: list[Constraint] = []
        for constraint in self._constraints[want.claim]:
            if not constraint.concerns(want):
                continue
            if not constraint.add(device):
                for constraint in held:
                    constraint.remove()
                return False
            held.append(constraint)
        return True

    def _following(self, level: _Level) -> _Level | None:
        want = level.taken or level.want
        assert want is not None
        ordinal = 0 if level.taken is not None else level.ordinal + 1
        if ordinal == want.number:
            request = level.request + 1
            return _Level(request) if request < len(self._requests) else None
        following = _Level(level.request, want, ordinal)
        if want.is_for_all:
            following.position, following.end = ordinal, ordinal + 1
            return following
        # The order of the devices of one request does not matter, so each comes after the last.
        following.end = len(want.candidates)
        if level.device is not None:
            following.position = level.position - (1 if level.device.is_shared else 0)
        return following

    def _step(self) -> None:
        self._steps += 1
        meter.spend(_MICROSECONDS_PER_STEP)
        if self._steps > MAX_STEPS:
            raise AllocationTimeout("timed out trying to allocate devices")
