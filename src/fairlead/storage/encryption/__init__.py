"""Encryption at rest: encrypts stored values with the keys of `--encryption-provider-config`, in
the format of the reference."""
