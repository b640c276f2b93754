"""Proxies requests to other servers and streams their responses back."""
