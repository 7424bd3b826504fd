"""Objects over TCP: a client's trials with a multi-threaded server in a process of its own.

Begin with `client`, which starts the server and sends. `receiver` is that server; `protocol` has
the frames of both.
"""

VERSION = 2
