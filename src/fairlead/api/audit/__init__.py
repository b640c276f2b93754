"""The audit log: records who requested what, when, and with which result."""
