"""Tokens with which nodes join a cluster."""
