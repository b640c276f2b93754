"""Who is asking: one module a method, and the chain."""
