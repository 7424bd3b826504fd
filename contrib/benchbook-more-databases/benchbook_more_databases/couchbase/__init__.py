"""Couchbase: facts that are known before a server runs.

`server` starts servers in containers, or asks those at given addresses; `adapter` keeps documents
in their bucket. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Product
from benchbook_more_databases.licensed_image import LicensedImage

VERSION = 1

PRODUCTS: Final = {
    "couchbase": Product(
        title="Couchbase",
        limitations={
            "bytes_received": (
                "XDCR's statistics are sampled, and it goes where its target's nodes say: "
                "no proxy can count"
            ),
        },
        schemes=("couchbase", "couchbases"),
        processes=("beam.smp",),
        image=LicensedImage(
            "docker.io/library/couchbase:enterprise-8.0.2",
            "Couchbase's Enterprise License Agreement",
            memory_gb=2.0,
        ),
    ),
}
