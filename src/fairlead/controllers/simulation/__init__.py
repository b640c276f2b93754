"""Nodes without machines: pods are placed and walk through their lives, and nothing runs."""
