"""Tokens of service accounts."""
