"""`replication` recomputed: averages that are of single readings, a rate for an amount, a share against its seconds."""

from itertools import pairwise, product
from typing import Final

from benchbook.papers.recomputed import Checks, Paper, Texts, alike, follows, less, listed, same

paper: Final = Paper("replication")
ENGINES: Final = ("MongoDB", "CouchDB", "RethinkDB")
FORMATS: Final = ("JSON", "XML")
FIGURES: Final = {"Fig. 15": "bandwidth", "Fig. 16": "share of the CPU", "Fig. 17": "memory", "Fig. 18": "CPU time"}
RESOLUTION: Final = {"Fig. 15": 1.0, "Fig. 16": 1.0, "Fig. 17": 0.1, "Fig. 18": 0.01}
"""Steps of a single reading of the monitor, in the figure's unit (Kbps, %, MB, s), as its screens round them."""

LEVELS: Final = 5
"""Numbers of documents that each average is over."""


def engines(figure: str) -> tuple[str, ...]:
    """Return the engines whose averages a figure's text prints: of the CPU share only MongoDB's."""
    return ENGINES[:1] if figure == "Fig. 16" else ENGINES


@paper.check
def orders() -> Checks:
    """Check that JSON needs less of everything but CPU time, of which XML needs less, and only a little."""
    for figure, measure in FIGURES.items():
        first, second = FORMATS if figure != "Fig. 18" else FORMATS[::-1]
        for engine in engines(figure):
            says = f"{first}'s {measure} below {second}'s, {engine}"
            yield less("Abstract, Section IV", says, paper(figure, engine, first), paper(figure, engine, second))
    for engine in ENGINES:
        json, xml = (paper("Fig. 18", engine, format) for format in FORMATS)
        yield alike("Abstract, Section IV", f"XML's CPU time close to JSON's, {engine}", xml, json)


@paper.check
def whole_readings() -> Checks:
    """Check that each average is the mean of five readings of the monitor's resolution (the GRIM test).

    References
    ----------
    Brown and Heathers, Social Psychological and Personality Science 8 (2017) 363-369.
    """
    for figure, measure in FIGURES.items():
        step = RESOLUTION[figure] / LEVELS
        for engine, format in product(engines(figure), FORMATS):
            claim = paper(figure, engine, format)
            nearest = round(claim.value / step) * step
            says = f"nearest mean of five readings in steps of {RESOLUTION[figure]:g} {claim.unit}"
            says = f"{measure}, {engine}, {format}: {says}"
            yield follows(claim, lambda nearest=nearest: nearest, says=says, rounding=step / 4)


@paper.check
def spacing() -> Checks:
    """Check that the numbers of documents are equally spaced."""
    levels = [paper("Section II.B", "records", f"level {one}") for one in range(1, LEVELS + 1)]
    for before, after in pairwise(levels):
        says = f"{before.column} and a step more"
        yield follows(after, lambda before, first: before + first, before, levels[0], says=says)
    last = paper("Section III.B", "repetitions of the insert", "source code shown")
    yield same(last, levels[-1], "repetitions in the code shown: the largest level")


def change(figure: str, engine: str) -> float:
    """Return XML against JSON in percent."""
    json, xml = (paper(figure, engine, format).value for format in FORMATS)
    return 100 * (xml / json - 1)


def changes(figure: str) -> str:
    """Return XML against JSON in percent of each engine, as a list in a sentence."""
    return listed([change(figure, engine) for engine in engines(figure)], "+.1f")


@paper.finding("contradiction", "Abstract and Section I against Table I and Section III")
def couchdb_or_arangodb() -> Texts:
    """ArangoDB or CouchDB."""
    version = paper("Table I", "CouchDB", "master").printed
    return (
        "The abstract's list of stores and the introduction name ArangoDB; the abstract's results name CouchDB.",
        f"Table I has CouchDB {version} and no ArangoDB, and so have all figures.",
        "ArangoDB was not measured. Whoever cites the abstract for it cites nothing.",
    )


@paper.finding("misprint", "Text of Fig. 16")
def json_twice() -> Texts:
    """JSON is smaller than JSON."""
    json, xml = (paper("Fig. 16", "MongoDB", format).printed for format in FORMATS)
    return (
        f"MongoDB's CPU share is {json} in JSON, less than {xml} in JSON.",
        f"Abstract and conclusion call JSON's the smaller one, so that {xml} is XML's: {changes('Fig. 16')} %.",
        "Read as meant here and in all tables.",
    )


@paper.finding("not shown", "Figs. 15 to 18; Section II.B")
def single_readings() -> Texts:
    """Averages of five single readings."""
    agree = [check.agrees for check in whole_readings()]
    return (
        "Averages are compared; how often each number of documents ran is not said.",
        f"{sum(agree)} of {len(agree)} averages lie on the grid of means of {LEVELS} readings as the monitor rounds "
        "them (1 Kbps, 1 %, 0.1 MB, 0.01 s). Of last digits that mean nothing half would: 1 chance in "
        f"{2 ** sum(agree):,} for all.",
        "There are five numbers of documents, so each probably ran once. The spread within one number is unknown, "
        "not only unprinted.",
    )


@paper.finding("unsupported", "Abstract, Sections III.D and IV")
def no_variance() -> Texts:
    """Significant without a test."""
    return (
        "CPU shares of CouchDB and RethinkDB do not differ significantly; MongoDB's do, and XML's CPU time is a "
        "little less.",
        f"MongoDB's shares differ by {changes('Fig. 16')} %, the times by {changes('Fig. 18')} %. No spread is printed "
        "and no test made; for the two that do not differ not even the averages are.",
        "One per cent is taken for a difference in one sentence and, for all that is shown, for none in another.",
    )


@paper.finding("contradiction", "Section III.C against Abstract and Fig. 18")
def cpu_seconds() -> Texts:
    """Execution time that is CPU time."""
    spent = [paper("Fig. 18", engine, "JSON").value for engine in ENGINES]
    return (
        "The average execution time of XML is the shorter one.",
        f"The measure is system and user CPU seconds of the server processes: {listed(spent, '.1f')} s in JSON of "
        f"{', '.join(ENGINES)}. XML's are {changes('Fig. 18')} %.",
        "How long replication takes is not in the paper. A store that waits for its disk or network uses little of "
        "this time.",
    )


@paper.finding("unsupported", "Section III.C; Fig. 15")
def rate_not_amount() -> Texts:
    """A rate for an amount."""
    return (
        "JSON needs less bandwidth, as its data are smaller.",
        f"XML's rate is {changes('Fig. 15')} % in {', '.join(ENGINES)}. A rate is bytes over a time that is not "
        "printed: equal bytes in less time give a higher one.",
        "The bytes sent are stored here beside the rate.",
    )


@paper.finding("contradiction", "Figs. 16 and 18; Abstract")
def share_against_seconds() -> Texts:
    """Less CPU and more CPU seconds."""
    share, seconds = change("Fig. 16", "MongoDB"), change("Fig. 18", "MongoDB")
    elapsed = 100 * ((1 + seconds / 100) / (1 + share / 100) - 1)
    return (
        "In MongoDB JSON uses less CPU; its execution time is the longer one.",
        f"XML's share is {share:+.1f} % and its CPU seconds are {seconds:+.1f} %. If both are of the same "
        f"processes, XML's runs were {-elapsed:.1f} % shorter, for seconds over share is elapsed time.",
        "A smaller share is no smaller use. By seconds JSON uses more CPU, which is the opposite of the abstract's "
        "sentence.",
    )


@paper.finding("not shown", "Table II; Figs. 16 to 18")
def two_nodes() -> Texts:
    """One number for two machines."""
    master, slave = (
        f"{paper('Table II', 'processor', node).printed} at {paper('Table II', 'clock', node).printed}"
        for node in ("master", "slave")
    )
    return (
        "CPU, memory and time are measured on master and slave.",
        f"One average an engine and format is printed. The nodes differ: {master} and {slave}.",
        "Whether it is one node's, a mean or a sum is not said. Here each node has its own row.",
    )


@paper.finding("not shown", "Figs. 15, 17 and 18")
def sizes_of_effects() -> Texts:
    """How much smaller."""
    rows = "; ".join(f"{FIGURES[figure]} {changes(figure)} %" for figure in ("Fig. 15", "Fig. 17", "Fig. 18"))
    return (
        "JSON is smaller in bandwidth and memory, XML a little quicker; no ratio is given.",
        f"XML against JSON in {', '.join(ENGINES)}: {rows}.",
        "One product shows a sixth more memory and the others a few per cent: what is concluded for the format "
        "depends on the store.",
    )


@paper.finding("misprint", "Fig. 9")
def wrong_product() -> Texts:
    """RethinkDB's code, called CouchDB's."""
    return (
        "caption: RethinkDB; text: CouchDB.",
        "Figs. 7 and 8 are CouchDB's, 9 and 10 RethinkDB's: the caption is right.",
        "A slip of copying, without consequence for the numbers.",
    )
