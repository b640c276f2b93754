"""The server's own CA, the certificates that it issues, serves and renews, and kubeconfig files."""
