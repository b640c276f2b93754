"""Deletion, and waiting until objects are gone."""
