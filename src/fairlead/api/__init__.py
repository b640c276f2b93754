"""Turns HTTP requests into operations and results into HTTP responses. May import `operations` and
the packages below it.

- `app`, `chain`: the entry point, and the steps of a request that never wait
- `request_task`, `access`: the task of a request, and admission where they wait
- `routing`, `methods`, `parameters`, `negotiation`, `body`, `patch`: parsing of requests
- `verbs`, `list`, `watch`, `subresources/`: one handler per verb
- `answers`, `representation`, `long_lists`, `watch_stream`, `watch_frames`: encoding of responses
- `discovery`, `aggregated_discovery`, `openapi/`: documents about the API
- `health`, `metrics`, `pages`, `component_pages`: documents about the server
- `observer`, `stalls`: what is noted of every request, and of a blocked event loop
- `flow_control/`: priority levels, queues and seats of requests
- `audit/`: the audit log
- `history/`: past versions of objects and the authors of changes
- `relay/`: proxying of requests to nodes, pods and services
- `testing/`: the API group that `--testing` adds
"""
