"""My Example: what benchbook knows before a server runs; its adapter is in `adapter`."""

from benchbook.registry.products import Product

PRODUCTS = {
    "my_example": Product(
        # The name in print.
        title="My Example",
        # How addresses begin.
        schemes=("my-example",),
        # The names of its servers' processes.
        processes=("my_example-server",),
    ),
}
