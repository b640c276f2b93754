"""Copies of a whole store: into a file, out of one, and from one storage into another."""
