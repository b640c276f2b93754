"""Permissions: questions to the server, and the roles and bindings behind the answer."""
