"""The audit log: who asked for what, when, and what came of it."""
