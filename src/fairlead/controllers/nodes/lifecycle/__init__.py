"""Whether nodes are alive, and what follows for them and their pods."""
