"""Deployment: pods that are replaced step by step when their template changes."""
