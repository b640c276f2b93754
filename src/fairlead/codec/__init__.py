"""Encodes and decodes JSON, YAML and protobuf, and evaluates CEL. May use `base`.

- `types/`: the type model, the built-in types (`types/builtin/*.types`), decoding and defaulting
- `bodies`, `json_syntax`, `strict_decoding`: JSON bodies, their limits and their errors
- `yaml_reader`, `yaml_blocks` for simple texts, `yaml_scalars`, `yaml_writer`: YAML
- `protobuf`, `protobuf_wire`, `messages/`: protobuf; `gnostic` and `gnostic_v3` for OpenAPI in it
- `continuation`: the tokens of paged lists
- `json_path`: JSONPath, for columns of custom resources and templates of the command line
- `go_template/`: Go templates, for stages of simulated objects and for the command line
- `cel/`: the expression language of validation rules
"""
