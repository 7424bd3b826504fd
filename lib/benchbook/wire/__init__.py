"""Objects over TCP: a client's trials with a multi-threaded server in a process of its own."""
