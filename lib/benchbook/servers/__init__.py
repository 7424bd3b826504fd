"""Servers: programs or containers that are started here, or servers at given addresses.

Begin with `launcher`, whose `open_deployment` gives a cell its running servers. `networks` has the
emulated networks, `processes` the child processes.
"""
