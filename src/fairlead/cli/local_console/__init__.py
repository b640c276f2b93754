"""The console for servers that do not serve it themselves, and for several servers at once.

- `contexts`: the contexts of a configuration, each with its server and credentials
- `doors`: the one-time code of the link, and the tokens that the page gets for it
- `server`: serves the files of the console, and passes requests on to the server of a context
"""
