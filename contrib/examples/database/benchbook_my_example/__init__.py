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
        # What a plan has to know before the driver is imported: that there is no `durability` to
        # choose, or that `bytes_received` cannot be counted.
        limitations={
            "bytes_received": "the example server replicates nothing",
            "durability": "the example server keeps everything in memory",
        },
    ),
}
