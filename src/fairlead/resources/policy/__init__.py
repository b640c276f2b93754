"""Kinds of the policy group."""

BEHAVIOURS: dict[str, str] = {
    "policy/v1/poddisruptionbudgets": "disruption_budgets.DisruptionBudgetBehaviour",
    "policy/v1beta1/podsecuritypolicies": "security_policies.SecurityPolicyBehaviour",
}
