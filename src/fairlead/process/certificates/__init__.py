"""The server's own CA, the certificates it makes, shows and renews, and kubeconfig files."""
