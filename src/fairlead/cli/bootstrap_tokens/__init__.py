"""Bootstrap tokens, with which nodes join a cluster."""
