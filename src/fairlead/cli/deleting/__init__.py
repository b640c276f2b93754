"""Deleting objects, and waiting until they are gone."""
