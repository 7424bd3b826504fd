"""Objects over TCP: a client's trials with a multi-threaded server that runs in a process of its own.

In come encoded objects, a stream of them for each connection; out comes the server's `client.Report` of a trial: its
readings, and how many objects it decoded. Begin with `client`, which starts the server and sends; `receiver` is that
server, which takes and decodes; `protocol` is the frames that both speak.
"""

VERSION = 1
