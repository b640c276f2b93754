"""Kinds that came while serving: what their definition says, and how they behave."""
