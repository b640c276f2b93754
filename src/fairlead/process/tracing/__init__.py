"""Traces of requests, exported to a collector of OpenTelemetry.

`configuration` reads `--tracing-config-file`; `exporter` sends the spans that `base/tracing.py` and
`api/tracing.py` make; `otlp` encodes them.
"""
