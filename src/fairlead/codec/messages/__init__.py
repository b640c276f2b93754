"""How structs of the type model become protobuf messages and back."""
