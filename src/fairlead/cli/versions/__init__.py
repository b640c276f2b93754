"""The versions of an object that the server retains."""
