"""Encryption at rest: what lies in the store under keys of `--encryption-provider-config`, in the
form of the reference."""
