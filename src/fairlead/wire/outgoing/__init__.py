"""Calls out to servers of others, all under one policy."""
