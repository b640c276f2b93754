"""Persistent volumes: binding, external provisioning, reclaiming, expansion, and claims of pods."""
