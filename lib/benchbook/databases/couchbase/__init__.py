"""Couchbase: what is known of it before a server runs.

`server` starts servers in containers or the stand-in (CouchbaseMock), or asks those at given addresses; `adapter` keeps
documents in their bucket. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry import Image, Product, StandIn

PRODUCTS: Final = {
    "couchbase": Product(
        title="Couchbase",
        extra_driver="couchbase",
        lacks={
            "bytes_received": "XDCR's statistics are sampled, and it goes where its target's nodes say: "
            "no proxy can count",
        },
        schemes=("couchbase", "couchbases"),
        processes=("beam.smp",),
        image=Image(
            "docker.io/library/couchbase:enterprise-8.0.2",
            "Couchbase's Enterprise License Agreement",
            port=8091,
            memory_gb=2,
            terms=True,
        ),
        stand_in=StandIn(
            version="CouchbaseMock 1.5.27",
            programs=("java", "javac"),  # its launcher is compiled when it starts
            lane="couchbase-mock",
            launcher="Loopback.java",
            package="CouchbaseMock-1.5.27.jar",
            get="get a JDK and maven from apt-get or conda, then python -m tools.artefacts harness/couchbase-mock",
            sha256="69aad2c1b3e538120bc89425682f27facfb219094645906a63c411b2c46a8b9c",
        ),
    ),
}
