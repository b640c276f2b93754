"""Bytes to values and back: JSON, YAML, Table."""
