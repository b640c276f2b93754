"""Tokens with which nodes join."""
