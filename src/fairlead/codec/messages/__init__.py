"""Encodes structs of the type model as protobuf messages, and decodes them."""
