"""A request becomes an operation. May use `operations` and what is below.

- `app`, `chain`: every request gets an answer; the way of a request, top to bottom
- `routing`, `methods`, `parameters`, `negotiation`, `body`: what is asked for
- `verbs`, `list`, `patch`, `watch`, `subresources/`: one function a verb
- `answers`, `representation`, `long_lists`, `watch_frames`: what is sent back
- `discovery`, `openapi/`, `health`, `metrics`, `pages`: what a server tells about itself
- `flow_control/`: who waits when many ask at once
- `audit/`: the audit log
- `history/`: how objects were, and who changed them
- `relay/`: passing requests on to nodes, pods and services
- `testing/`: the API group that `--testing` adds
"""
