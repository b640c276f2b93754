"""What each verb does to objects, for whoever asks: clients over HTTP and the server's own parts.

A verb is a function of the `Api`, an `Operation` (who wants what of which resource) and its
options; it returns stored versions or raises StatusError, and knows nothing of headers, queries or
sockets.
"""
