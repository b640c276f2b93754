"""HTTP/1.1 to one server, with kept-alive connections and streamed responses."""
