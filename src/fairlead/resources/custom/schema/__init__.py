"""The schemas of custom resources, compiled to the type model of `codec.types`. Enter by
`custom_schema`."""
