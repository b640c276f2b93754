"""Coordination of servers that share a store: leader election and membership."""
