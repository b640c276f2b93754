"""Options, wiring, TLS, lifecycle, health and metrics."""
