"""Calls out to servers of others: the client configuration file and posting JSON."""
