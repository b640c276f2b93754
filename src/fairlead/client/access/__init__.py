"""Server address, trust and credentials, from configuration files."""
