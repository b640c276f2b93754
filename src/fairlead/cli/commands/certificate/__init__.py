"""Requests for certificates."""
