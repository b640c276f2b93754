"""Editing objects in an editor."""
