"""Admission policies: expressions that refuse or change writes.

Start with `validating_plugin`, then `dispatch`.

- `setup`: constructs the two plugins
- `policy_index`: the stored policies and bindings
- `matching`: which writes they match
- `dispatch`: the policies, bindings and parameters that apply to a write
- `parameters`: the parameters of a policy
- `inputs`: the variables of expressions; match conditions of webhooks
- `compilation`: the expressions of a policy, compiled
- `evaluation`: evaluates expressions within cost limits
- `validating_plugin`: the plugin ValidatingAdmissionPolicy
- `mutating_plugin`: the plugin MutatingAdmissionPolicy
- `param_access`: users name only parameters that they may read
- `type_checks`: checks expressions against the types of matched kinds
"""
