"""Comparison of live objects with the result of apply."""
