"""Couchbase, SQL Server and ArangoDB: a plug-in of benchbook, found by its entry points.

Each product is a package of three modules, as in `benchbook.databases`: its facts, its adapter and
its servers. `licensed_image` has the images whose makers' terms a user must accept, and
`bridged_fleet` starts servers that only listen at one port.
"""
