"""Controllers of nodes and of the pods on them."""
