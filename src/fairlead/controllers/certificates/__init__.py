"""Certificate signing requests: approved where a rule allows it, signed, and cleared away."""
