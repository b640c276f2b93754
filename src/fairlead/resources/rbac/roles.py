"""Role and ClusterRole: named sets of rights."""

from __future__ import annotations

from fairlead.codec.types.names import path_segment
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.rbac.rules import check_aggregation, check_policy_rule
from fairlead.resources.storage.shared import OrderedBehaviour, Step

_MOST_RULES = 5_000  # all of them are compiled again when a role is written


class RoleBehaviour(OrderedBehaviour):
    name_rule = staticmethod(path_segment)
    update_order = (Step.METADATA, Step.RULES, Step.METADATA, Step.RULES, Step.METADATA_CHANGE)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        rules = value["rules"] or ()
        if len(rules) > _MOST_RULES:
            causes.too_many("rules", len(rules), _MOST_RULES)
            return
        for index, rule in enumerate(rules):
            check_policy_rule(rule, self.resource.namespaced, f"rules[{index}]", causes)
        aggregation = value.get("aggregationRule")
        if aggregation is not None:
            selectors = aggregation.get("clusterRoleSelectors") or []
            check_aggregation(selectors, "aggregationRule.clusterRoleSelectors", causes)
