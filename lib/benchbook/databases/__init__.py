"""Databases behind one contract: a product's verbs on running servers, without any timing.

`catalogue` opens an adapter by its database's name; `adapter` is the contract that all keep.
Begin with `adapter`, then `server_adapter` (what products with servers share) and one product.
"""
