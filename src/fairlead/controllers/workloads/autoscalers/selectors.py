"""The selectors of the autoscalers' targets: a pod belongs to one autoscaler."""

from __future__ import annotations

from fairlead.base.slices import TimeSlices
from fairlead.operations.api import Api
from fairlead.operations.client import Client
from fairlead.storage.selection import Selection, SelectorError, parse_labels

_PODS = "core/v1/pods"


class UnusableSelectorError(Exception):
    """A selector that does not determine the pods of one target. `reason` and the text are those of
    the event."""

    def __init__(
        self, reason: str, text: str, condition_reason: str = "", condition_text: str = ""
    ) -> None:
        super().__init__(text)
        self.reason = reason
        self.condition_reason = condition_reason or reason
        self.condition_text = condition_text or text


class Selectors:
    """The selectors that the autoscalers had at their last evaluations."""

    def __init__(self, api: Api, objects: Client) -> None:
        self._are_exclusive = api.gates["AmbiguousAutoscalerSelectors"]
        self._objects = objects
        self._slices = TimeSlices()
        self._by_name: dict[str, dict[str, Selection]] = {}  # in each namespace

    def forget(self, namespace: str, name: str) -> None:
        selections = self._by_name.get(namespace, {})
        selections.pop(name, None)
        if not selections:
            self._by_name.pop(namespace, None)

    async def check(self, namespace: str, name: str, text: str) -> Selection:
        """Keep the selector of an autoscaler, and return it. Raises UnusableSelectorError."""
        if not text:
            missing = "the HPA target's scale is missing a selector"
            raise UnusableSelectorError(
                "SelectorRequired", "selector is required", "InvalidSelector", missing
            )
        try:
            selection = Selection(parse_labels(text), ())
        except SelectorError as error:
            why = "couldn't convert selector into a corresponding internal selector object"
            raise UnusableSelectorError("InvalidSelector", f"{why}: {error}") from None
        if not self._are_exclusive:
            return selection
        self._by_name.setdefault(namespace, {})[name] = selection
        names = await self._select_pods_of(namespace, selection)
        if len(names) > 1:
            keys = " ".join(f"{namespace}/{name}" for name in names)
            raise UnusableSelectorError(
                "AmbiguousSelector",
                f"pods by selector {text} are controlled by multiple HPAs: [{keys}]",
            )
        return selection

    async def _select_pods_of(self, namespace: str, selection: Selection) -> list[str]:
        """The names of the autoscalers that select any pod of a selection."""
        pods = []
        for pod in self._objects.collection(_PODS).candidates(namespace, selection):
            await self._slices.pause()
            if selection.matches(pod):
                pods.append(pod)
        names = []
        for name, other in sorted(self._by_name[namespace].items()):
            for pod in pods:
                await self._slices.pause()
                if other.matches(pod):
                    names.append(name)
                    break
        return names
