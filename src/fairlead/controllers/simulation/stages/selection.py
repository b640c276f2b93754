"""Which stage an object is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.stages.definitions import Stage
from fairlead.controllers.simulation.stages.delays import draw
from fairlead.controllers.simulation.stages.expressions import StageError

_MAX_WEIGHT = 2**40


class Problem(NamedTuple):
    stage: Stage
    text: str


class Selected(NamedTuple):
    """The stage of an object, when it is to be played, and the stages that could not be
    evaluated."""

    stage: Stage | None
    due: float
    problems: Sequence[Problem]


def select(stages: Sequence[Stage], value: Object, changed: float) -> Selected:
    """Choose among the stages that match an object, by weight. `changed` is when the object last
    changed."""
    problems: list[Problem] = []
    matching = [stage for stage in stages if _matches(stage, value, problems)]
    if not matching:
        return Selected(None, 0.0, problems)
    chosen = matching[0] if len(matching) == 1 else _drawn(matching, value, problems)
    since = max(changed, chosen.since)
    drawn = draw(chosen.seed, f"delay {chosen.name}", value)
    try:
        due = chosen.delay.due(value, since, drawn)
    except StageError as error:
        problems.append(Problem(chosen, f"delay: {error}"))
        return Selected(None, 0.0, problems)
    return Selected(chosen, due, problems)


def _matches(stage: Stage, value: Object, problems: list[Problem]) -> bool:
    try:
        return all(matches(value) for matches in stage.matches)
    except StageError as error:
        problems.append(Problem(stage, f"selector: {error}"))
        return False


def _drawn(stages: Sequence[Stage], value: Object, problems: list[Problem]) -> Stage:
    """A stage by weight. If no weight is positive all stages with a weight are alike; if none has
    one, all of them."""
    weights = [_weight(stage, value, problems) for stage in stages]
    known = [weight for weight in weights if weight is not None]
    if not known:
        weights = [1] * len(stages)
    elif not any(known):
        weights = [None if weight is None else 1 for weight in weights]
    left = draw(_seed(stages), "stage", value) * sum(weight or 0 for weight in weights)
    for stage, weight in zip(stages, weights, strict=True):
        left -= weight or 0
        if left < 0:
            return stage
    return stages[-1]


def _seed(stages: Sequence[Stage]) -> str:
    return next((stage.seed for stage in stages if stage.seed), "")


def _weight(stage: Stage, value: Object, problems: list[Problem]) -> int | None:
    """The weight for an object; None if the object gives an invalid one."""
    if stage.weight_query is None:
        return stage.weight
    try:
        found = stage.weight_query.results(value)[:1]
    except StageError as error:
        problems.append(Problem(stage, f"weightFrom: {error}"))
        return None
    for result in found:
        if isinstance(result, str):
            return _parsed(result)
        if isinstance(result, int | float) and not isinstance(result, bool):
            return max(0, min(int(result), _MAX_WEIGHT))
    return stage.weight


def _parsed(text: str) -> int | None:
    try:
        return max(0, min(int(text[:20], 0), _MAX_WEIGHT))
    except ValueError:
        return None
