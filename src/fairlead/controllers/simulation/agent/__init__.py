"""The agents of simulated nodes, which advance the pods bound to them."""
