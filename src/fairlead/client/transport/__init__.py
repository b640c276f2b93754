"""HTTP/1.1 to one server: connections that stay open, answers read as they come."""
