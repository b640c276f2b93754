"""Who may do what: one module a mode, the chain and its decision cache."""
