"""`replication`: averages of single readings, a rate for an amount, and a share against its seconds."""

from itertools import product
from typing import Final

from benchbook.evidence.recomputed.checks.replication import ENGINES, FORMATS, LEVELS, average, engines, whole_readings
from benchbook.evidence.recomputed.finding import Finding, listed
from benchbook.evidence.recomputed.printed import printed


def change(figure: str, engine: str) -> float:
    """Return XML against JSON in percent."""
    json, xml = (average(figure, engine, format).value for format in FORMATS)
    return 100 * (xml / json - 1)


def couchdb_or_arangodb() -> Finding:
    """Abstract and introduction name a product that did not run."""
    version = printed("replication", "Table I", "CouchDB", "master").text
    return Finding(
        "replication.couchdb-or-arangodb",
        "ArangoDB or CouchDB",
        "contradiction",
        "Abstract and Section I against Table I and Section III",
        "The abstract's list of stores and the introduction name ArangoDB; the abstract's results name CouchDB.",
        f"Table I has CouchDB {version} and no ArangoDB, and so have all figures.",
        "ArangoDB was not measured. Whoever cites the abstract for it cites nothing.",
    )


def json_twice() -> Finding:
    """Both CPU shares are called JSON's."""
    json, xml = (average("Fig. 16", "MongoDB", format) for format in FORMATS)
    return Finding(
        "replication.json-twice",
        "JSON is smaller than JSON",
        "misprint",
        "Text of Fig. 16",
        f"MongoDB's CPU share is {json.text} in JSON, less than {xml.text} in JSON.",
        f"Abstract and conclusion call JSON's the smaller one, so that {xml.text} is XML's: "
        f"{change('Fig. 16', 'MongoDB'):+.1f} %.",
        "Read as meant here and in all tables.",
    )


def single_readings() -> Finding:
    """The averages can be of five single readings, one for each number of documents."""
    checks = whole_readings()
    fits = sum(check.agrees for check in checks)
    return Finding(
        "replication.single-readings",
        "Averages of five single readings",
        "not shown",
        "Figs. 15 to 18; Section II.B",
        "Averages are compared; how often each number of documents ran is not said.",
        f"{fits} of {len(checks)} averages lie on the grid of means of {LEVELS} readings as the monitor rounds them "
        f"(1 Kbps, 1 %, 0.1 MB, 0.01 s). Of last digits that mean nothing half would: 1 chance in {2**fits:,} for "
        "all.",
        "There are five numbers of documents, so each probably ran once. The spread within one number is unknown, "
        "not only unprinted.",
    )


def no_variance() -> Finding:
    """Differences are called significant, or not, without a spread."""
    cpu = change("Fig. 16", "MongoDB")
    times = [change("Fig. 18", engine) for engine in ENGINES]
    return Finding(
        "replication.no-variance",
        "Significant without a test",
        "unsupported",
        "Abstract, Sections III.D and IV",
        "CPU shares of CouchDB and RethinkDB do not differ significantly; MongoDB's do, and XML's CPU time is a "
        "little less.",
        f"MongoDB's shares differ by {cpu:+.1f} %, the times by {listed(times, '+.1f')} %. No spread is printed and "
        "no test made; for the two that do not differ not even the averages are.",
        "One per cent is taken for a difference in one sentence and, for all that is shown, for none in another.",
    )


def cpu_seconds() -> Finding:
    """Execution time is CPU time."""
    spent = [average("Fig. 18", engine, "JSON").value for engine in ENGINES]
    return Finding(
        "replication.cpu-seconds",
        "Execution time that is CPU time",
        "contradiction",
        "Section III.C against Abstract and Fig. 18",
        "The average execution time of XML is the shorter one.",
        f"The measure is system and user CPU seconds of the server processes: {listed(spent, '.1f')} s in JSON of "
        f"{', '.join(ENGINES)}. XML's are {listed([change('Fig. 18', engine) for engine in ENGINES], '+.1f')} %.",
        "How long replication takes is not in the paper. A store that waits for its disk or network uses little of "
        "this time.",
    )


def rate_not_amount() -> Finding:
    """A bandwidth in Kbps is not an amount of data."""
    rates = [change("Fig. 15", engine) for engine in ENGINES]
    return Finding(
        "replication.rate-not-amount",
        "A rate for an amount",
        "unsupported",
        "Section III.C; Fig. 15",
        "JSON needs less bandwidth, as its data are smaller.",
        f"XML's rate is {listed(rates, '+.1f')} % in {', '.join(ENGINES)}. A rate is bytes over a time that is not "
        "printed: equal bytes in less time give a higher one.",
        "The bytes sent are stored here beside the rate.",
    )


def share_against_seconds() -> Finding:
    """Less CPU by share is more CPU by seconds."""
    share, seconds = change("Fig. 16", "MongoDB"), change("Fig. 18", "MongoDB")
    elapsed = 100 * ((1 + seconds / 100) / (1 + share / 100) - 1)
    return Finding(
        "replication.share-against-seconds",
        "Less CPU and more CPU seconds",
        "contradiction",
        "Figs. 16 and 18; Abstract",
        "In MongoDB JSON uses less CPU; its execution time is the longer one.",
        f"XML's share is {share:+.1f} % and its CPU seconds are {seconds:+.1f} %. If both are of the same "
        f"processes, XML's runs were {-elapsed:.1f} % shorter, for seconds over share is elapsed time.",
        "A smaller share is no smaller use. By seconds JSON uses more CPU, which is the opposite of the abstract's "
        "sentence.",
    )


def two_nodes() -> Finding:
    """One average stands for two nodes that are different machines."""
    clocks = [printed("replication", "Table II", "clock", node).text for node in ("master", "slave")]
    names = [printed("replication", "Table II", "processor", node).text for node in ("master", "slave")]
    return Finding(
        "replication.two-nodes",
        "One number for two machines",
        "not shown",
        "Table II; Figs. 16 to 18",
        "CPU, memory and time are measured on master and slave.",
        f"One average an engine and format is printed. The nodes differ: {names[0]} at {clocks[0]} and {names[1]} "
        f"at {clocks[1]}.",
        "Whether it is one node's, a mean or a sum is not said. Here each node has its own row.",
    )


def sizes_of_effects() -> Finding:
    """XML against JSON in percent, which the paper leaves to the reader."""
    rows = {
        name: [change(figure, engine) for engine in engines(figure)]
        for figure, name in (("Fig. 15", "bandwidth"), ("Fig. 17", "memory"), ("Fig. 18", "CPU time"))
    }
    said = "; ".join(f"{name} {listed(values, '+.1f')} %" for name, values in rows.items())
    return Finding(
        "replication.sizes-of-effects",
        "How much smaller",
        "not shown",
        "Figs. 15, 17 and 18",
        "JSON is smaller in bandwidth and memory, XML a little quicker; no ratio is given.",
        f"XML against JSON in {', '.join(ENGINES)}: {said}.",
        "One product shows a sixth more memory and the others a few per cent: what is concluded for the format "
        "depends on the store.",
    )


def wrong_captions() -> Finding:
    """The text of Fig. 9 names another product than its caption."""
    places = list(product(("Fig. 9",), ("caption: RethinkDB", "text: CouchDB")))
    return Finding(
        "replication.wrong-product",
        "RethinkDB's code, called CouchDB's",
        "misprint",
        "Fig. 9",
        "; ".join(where for _, where in places) + ".",
        "Figs. 7 and 8 are CouchDB's, 9 and 10 RethinkDB's: the caption is right.",
        "A slip of copying, without consequence for the numbers.",
    )


FINDINGS: Final = (
    couchdb_or_arangodb,
    json_twice,
    single_readings,
    no_variance,
    cpu_seconds,
    rate_not_amount,
    share_against_seconds,
    two_nodes,
    sizes_of_effects,
    wrong_captions,
)
