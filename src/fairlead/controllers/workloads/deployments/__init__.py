"""Deployment: replaces pods step by step when their template changes."""
