"""Passing requests on to servers of others, and their answers back as they come."""
