"""The web console: its files, and how people sign in to it. May use `api` and what is below.

- `handler`: everything below `/console`
- `files`, `headers`: what is sent; the console itself is in `static/`
- `sign_in`: links and sessions
"""

PATH = "/console"
