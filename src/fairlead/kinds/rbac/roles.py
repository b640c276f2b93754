"""Role and ClusterRole: named sets of rights."""

from __future__ import annotations

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context
from fairlead.kinds.rbac.rules import check_aggregation, check_policy_rule
from fairlead.kinds.storage.shared import OrderedBehaviour, Step
from fairlead.schema.names import path_segment

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
