"""The web console: its files, and signing in to it. May use `api` and the packages below it.

- `handler`: routes everything below `/console`, and starts to take samples
- `about`: facts about a server that the page needs
- `samples`: the metrics of the last hour
- `files`: static files and response headers; the console itself is in `static/`
- `sign_in`: links and sessions
"""

PATH = "/console"
