"""The registry: which databases, codecs and studies there are, here and in other packages.

Begin with `products`, the table of databases. `plugins` finds those of other packages.
"""
