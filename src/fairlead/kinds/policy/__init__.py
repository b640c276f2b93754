"""Kinds of the policy group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.policy.disruption_budgets import DisruptionBudgetBehaviour
from fairlead.kinds.policy.security_policies import SecurityPolicyBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "policy/v1/poddisruptionbudgets": DisruptionBudgetBehaviour,
    "policy/v1beta1/podsecuritypolicies": SecurityPolicyBehaviour,
}
