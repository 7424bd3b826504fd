"""Study `my_example`: the time to compress records as JSON, by zlib's level. Replace it by yours.

Every repetition compresses n comments, one call per comment. Outside the timed section it checks
that each is equal when it is decompressed.
"""

import zlib
from datetime import UTC, datetime
from typing import Literal

import pandas as pd

from benchbook import codecs
from benchbook.datasets import blog
from benchbook.measure import make_client_meters, time_action
from benchbook.studies.cell import CellParameters, Count, Repetitions, Rows, state_parameters
from benchbook.studies.study import Study

METRICS = ("wall_time", "cpu_user", "cpu_system")


class WrongContentsError(RuntimeError):
    """A decompressed comment differs from the original, so its times mean nothing."""


class Parameters(CellParameters):
    """One cell: a number of comments, and the level of compression."""

    language: Literal["python"] = "python"
    n: Count = 1000
    level: Literal[1, 6, 9] = 6
    repetitions: Repetitions = 20


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's records."""
    return parameters.name_dataset("comments")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return the modules that the cell imports by name, whose code is part of its identity."""
    return (codecs.find_module("orjson"),)


def expected(parameters: Parameters) -> set[tuple[str, str, str]]:
    """Return the operation, role and metric of each value that every repetition must have."""
    return {("compress", "client", metric) for metric in (*METRICS, "size")}


@state_parameters
def run(parameters: Parameters) -> pd.DataFrame:
    """Time the compression in every repetition.

    Raises `WrongContentsError` when a decompressed comment differs.
    """
    data = parameters.own_records() or blog.generate_comments(parameters.n, parameters.seed)
    texts = [codecs.load_codec("orjson").encode_record(record) for record in data.records]
    about = {"dataset": dataset(parameters), "dataset_sha256": data.sha256}
    meters = [meter for meter in make_client_meters() if meter.metric in METRICS]
    rows = Rows()
    for repetition in range(parameters.repetitions):
        started_at = datetime.now(UTC)
        # The timed section.
        packed, readings = time_action(
            lambda: [zlib.compress(text, parameters.level) for text in texts], meters
        )

        # The answer is checked before its time counts.
        if [zlib.decompress(one) for one in packed] != texts:
            raise WrongContentsError(f"a decompressed comment differs in repetition {repetition}")
        count = len(texts)
        columns = {"started_at": started_at, **about}
        rows.add(repetition, "compress", readings, count, **columns)
        size = float(sum(map(len, packed)))
        rows.add_value(repetition, "compress", "client", "size", size, "len", 1.0, count, **columns)
    return rows.frame()


# A study with a database also has deployment=..., the product and topology of its servers.
STUDY = Study(
    "my_example",
    Parameters,
    run=run,
    expected=expected,
    dataset=dataset,
    modules=modules,
)
