"""The scheduler of simulated nodes: one module a rule, and who asks them."""
