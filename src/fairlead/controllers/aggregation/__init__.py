"""Aggregation: extension servers behind this server that serve some group versions."""
