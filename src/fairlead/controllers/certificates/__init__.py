"""CertificateSigningRequests: approval, signing and cleanup."""
