"""The registry: which databases, codecs and studies there are, here and in other packages.

Begin with `products`, the table of databases, and `papers`, the table of the papers' studies.
`plugins` finds those of other packages.
"""
