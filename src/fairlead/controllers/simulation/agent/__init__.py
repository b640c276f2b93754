"""The agents of simulated nodes: what becomes of the pods that are bound to them."""
