"""Admission policies: expressions that refuse or change writes.

Start with `validating`, then `dispatch`.

- `setup`: constructs the two plugins
- `followed`: the stored policies and bindings
- `matching`: which writes they match
- `dispatch`: the policies, bindings and parameters that apply to a write
- `parameters`: the parameters of a policy
- `inputs`: the variables of expressions; match conditions of webhooks
- `compilation`: the expressions of a policy, compiled
- `evaluation`: evaluates expressions within cost limits
- `validating`: the plugin ValidatingAdmissionPolicy
- `mutating`: the plugin MutatingAdmissionPolicy
- `param_access`: users name only parameters that they may read
- `type_checks`: checks expressions against the types of matched kinds
"""
