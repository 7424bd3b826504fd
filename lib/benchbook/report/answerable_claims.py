"""The claims that a machine can answer in a profile, and what each lever adds.

Begin with `find_answers`. A comparison can be answered where all its terms are among the profile's
cells and run on the machine, each plug-in's adapter was checked, and no reason of `data/claims`
makes it not comparable. A claim can be answered where at least one of its comparisons can, in any
language.
"""

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import median
from typing import Final, Literal, TypeAlias, get_args

import psutil
from pydantic import ValidationError

from benchbook.analysis.claim_comparisons import ClaimMeans, find_objection
from benchbook.analysis.claim_files import find_paper_language, load_claims
from benchbook.analysis.claims import Claim, MeasuredClaim, UnmeasuredClaim, format_levels
from benchbook.analysis.published import Terms
from benchbook.analysis.runs import Run
from benchbook.grid import Cell
from benchbook.grid.cells import Combination
from benchbook.grid.expansion import choose_cells
from benchbook.registry import products
from benchbook.results.schema import name_parameter_column
from benchbook.results.server_checks import is_unchecked
from benchbook.results.views import fetch_frame
from benchbook.runner.undecided_claims import iterate_planned_means
from benchbook.servers import containers, launcher, networks
from benchbook.servers.deployment import Topology, list_roles
from benchbook.servers.networks import Network
from benchbook.servers.programs import AvailableServer
from benchbook.studies import harness
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.studies.cell import write_levels
from benchbook.text import names
from benchbook.text.number_format import format_count

LeverKind: TypeAlias = Literal[
    "product", "language", "namespaces", "delay", "processors", "network", "containers", "commit"
]
NoAnswer: TypeAlias = Literal["unchecked adapter", "not comparable", "not in the profile"]
"""Why nothing lets a machine answer a comparison: of a claim's, the first of these counts."""

ServerKey: TypeAlias = tuple[str, Topology, bool]
"""A product, its topology, and whether its servers are in an emulated network."""

ComparisonKey: TypeAlias = tuple[str, str, str, Terms]
"""A claim's id, the language, and the levels and terms of a comparison."""

RULE: Final = (
    "A claim can be answered when at least one of its comparisons can run here and is comparable."
)

RATE_NETWORK: Final = "lan-100m"
"""A network that needs namespaces only."""

DELAY_NETWORK: Final = "wan"
"""A network that needs the kernel's netem, too."""


@dataclass(frozen=True, order=True)
class Lever:
    """One thing that lets a machine run more cells."""

    kind: LeverKind
    # A product, a language, or a network in which each role has a processor; empty: any network.
    name: str = ""
    # Of the whole machine.
    processors: int = 0

    def provides(self, need: "Lever") -> bool:
        """Return whether a cell has what it needs with this lever."""
        if self.kind == "processors" and need.kind == "processors":
            return self.processors >= need.processors
        if self.kind == "containers" and need.kind == "product":
            return products.load_product(need.name).image is not None
        if self == PROCESSOR_EACH:
            return need.kind == "network"
        return self == need

    @property
    def title(self) -> str:
        """Its name in print."""
        if self.kind == "product":
            return products.load_product(self.name).title
        if self.kind == "language":
            return names.LANGUAGES[self.name]
        if self.kind == "processors":
            return f"{self.processors} processors"
        titles = {
            "namespaces": "root or user namespaces",
            "delay": "the kernel's netem",
            "network": "a processor for each role",
            "commit": "a server's own programs with libeatmydata",
        }
        return titles.get(self.kind, "a container engine")


CONTAINERS: Final = Lever("containers")
"""A container engine, which provides all products that have an image."""

PROCESSOR_EACH: Final = Lever("network")
"""The networks that no profile has, in which each role has a processor."""


@dataclass(frozen=True)
class Machine:
    """What a machine has of all that cells need."""

    servers: frozenset[ServerKey]
    languages: frozenset[str]
    processors: int
    has_namespaces: bool  # for emulated networks
    has_delay: bool  # in emulated networks
    has_containers: bool
    commits_later: bool = False  # whether servers of ``commit: later`` start

    def list_needs(self, cell: Cell) -> frozenset[Lever]:
        """Return the levers without which a cell does not run here."""
        needs = set()
        is_in_network = cell.network != networks.NO_NETWORK
        others = load_study(cell.study).other_products(cell.parameters)
        for product in (cell.product, *others):
            if product != "none" and (product, cell.topology, is_in_network) not in self.servers:
                needs.add(Lever("product", product))
        if cell.parameters.commit_time == "later" and not self.commits_later:
            needs.add(Lever("commit"))
        if cell.parameters.language not in self.languages:
            needs.add(Lever("language", cell.parameters.language))
        if is_in_network:
            network = Network.parse(cell.network)
            processors = int(network.cores or 0) * count_roles(cell)
            if not self.has_namespaces:
                needs.add(Lever("namespaces"))
            if network.delay and not self.has_delay:
                needs.add(Lever("delay"))
            if processors > self.processors:
                needs.add(Lever("processors", processors=processors))
        return frozenset(needs)

    def replaces(self, fallback_for: str) -> bool:
        """Return whether it has the language or network without which a fallback is run."""
        if fallback_for in networks.NAMED_NETWORKS:
            return self.has_namespaces
        return fallback_for in self.languages


@dataclass(frozen=True)
class AnsweredClaims:
    """The claims that some levers add to those that a machine can answer already."""

    levers: tuple[Lever, ...]  # empty: what it can answer without any
    claims: tuple[str, ...]
    in_paper_language: tuple[str, ...]  # claims that it could not answer in that language before
    comparisons: int
    minutes: float  # of a block of the cells that it adds
    untimed_cells: int  # which the reference run did not measure: they are not in the minutes
    # What its cells need beyond the machine, each with the studies of these cells.
    needs: Mapping[Lever, tuple[str, ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The levers in words."""
        return " and ".join(lever.title for lever in self.levers) or "now"

    def describe_minutes(self) -> str:
        """Return the minutes in words, with the number of cells whose duration is unknown."""
        sign = "+" if self.levers else ""
        minutes = f"{sign}{self.minutes:.0f}" if self.minutes else ""
        count = format_count(self.untimed_cells, "cell")
        untimed = f"{count} never timed" if self.untimed_cells else ""
        if minutes and untimed:
            return f"{minutes} ({untimed})"
        return minutes or untimed


@dataclass(frozen=True)
class ClaimAnswers:
    """What a machine can answer in a profile; each testable claim is counted once."""

    profile: str
    testable: int
    facts: int
    untestable: int  # claims that are not testable, without facts
    comparisons: int  # of the testable claims, in all languages
    now: AnsweredClaims
    added: tuple[AnsweredClaims, ...]  # each adds to those before it
    never: Mapping[NoAnswer, tuple[str, ...]]

    def list_rows(self) -> list[dict[str, str]]:
        """Return one row for what can be answered now, one per lever, and one for the rest."""
        rows = []
        for row in (self.now, *self.added):
            sign = "+" if row.levers else ""
            rows.append(
                {
                    "": row.title,
                    "claims": f"{sign}{len(row.claims)}",
                    "in the paper's language": f"{sign}{len(row.in_paper_language)}",
                    "comparisons": f"{sign}{row.comparisons}",
                    "minutes per block": row.describe_minutes(),
                }
            )
        rest = sum(map(len, self.never.values()))
        rows.append({**dict.fromkeys(rows[0], ""), "": "no answer", "claims": str(rest)})
        return rows

    def describe_rest(self) -> list[str]:
        """Return the claims that have no answer, by reason and study, and those not counted."""
        words = {
            "unchecked adapter": "need a database whose adapter was not checked",
            "not comparable": "are not comparable here",
            "not in the profile": f"need cells that {self.profile} does not have",
        }
        parts = []
        for reason, claims in self.never.items():
            studies = Counter(claim.partition(".")[0] for claim in claims)
            counts = ", ".join(f"{study} {count}" for study, count in studies.items())
            parts.append(f"{len(claims)} {words[reason]} ({counts})")
        lines = [f"No answer: {'; '.join(parts)}."] if parts else []
        others = f"Not counted: {self.facts} facts, and {self.untestable} claims not testable."
        return [*lines, others]


@dataclass(frozen=True)
class PlannedAnswer:
    """Cells from which a comparison can be read, and what is missing for them."""

    cells: frozenset[Combination]
    needs: frozenset[Lever]


def is_testable(claim: Claim) -> bool:
    """Return whether measurements can speak for or against a claim."""
    return not isinstance(claim, UnmeasuredClaim) and not claim.fact


def find_answers(
    profile: str, machine: Machine, durations: Mapping[Combination, float]
) -> ClaimAnswers:
    """Return which testable claims a machine can answer, and what each lever adds.

    Parameters
    ----------
    profile
        Whose cells are counted. Beyond it, each cell also runs with a processor for each role.
    machine
        As `read_machine` returns it.
    durations
        Seconds of cells, as `load_durations` returns them.
    """
    claims = load_claims()
    testable = [claim for claim in claims if is_testable(claim)]
    found = _find_comparisons(profile, machine, testable)

    # What can be answered now; then the lever that adds most, and so on.
    counter = AnswerCounter(found, durations)
    now = counter.add(())
    added = []
    levers = counter.choose_levers(machine)
    while levers:
        added.append(counter.add(levers))
        levers = counter.choose_levers(machine)

    return ClaimAnswers(
        profile,
        testable=len(testable),
        facts=sum(bool(claim.fact) for claim in claims),
        untestable=sum(not is_testable(claim) and not claim.fact for claim in claims),
        comparisons=len(found),
        now=now,
        added=tuple(added),
        never=counter.explain_rest(),
    )


def read_machine() -> Machine:
    """Return the machine on which this runs."""
    has_namespaces = networks.find_network_fault(RATE_NETWORK) is None
    servers: set[ServerKey] = set()
    for product in products.PRODUCTS:
        for topology in launcher.list_topologies(product):
            server = launcher.find_server(product, topology)
            if not isinstance(server, AvailableServer):
                continue
            servers.add((product, topology, False))
            # Some servers cannot be in a network, such as those at an address.
            if not has_namespaces or not launcher.find_placement_fault(server, RATE_NETWORK):
                servers.add((product, topology, True))
    languages = {"python"}
    for language in harness.PROGRAMMING_LANGUAGES[1:]:
        if isinstance(harness.find_harness(language), harness.Harness):
            languages.add(language)
    return Machine(
        frozenset(servers),
        frozenset(languages),
        processors=_count_processors(),
        has_namespaces=has_namespaces,
        has_delay=networks.find_network_fault(DELAY_NETWORK) is None,
        has_containers=containers.has_engine(),
        commits_later=launcher.can_commit_later("couchdb"),
    )


def load_durations(run: Run | None = None) -> dict[Combination, float]:
    """Return the median duration of each cell of a run, in seconds; None: the reference run."""
    run = run or Run.read_reference()
    names = {"study"}
    for study in SLUGS:
        fields = load_study(study).Parameters.model_fields
        names |= {name_parameter_column(name) for name in fields}
    with run.connect() as connection:
        known = connection.sql("SELECT * FROM observations LIMIT 0").columns
        read = [f'any_value("{name}") AS "{name}"' for name in known if name in names]
        read.append("any_value(epoch(cell_ended_at) - epoch(cell_started_at)) AS took_s")
        query = f"SELECT {', '.join(read)} FROM observations GROUP BY cell_id, block"
        rows = fetch_frame(connection, query)

    durations: dict[Combination, list[float]] = {}
    for row in rows.to_dict("records"):
        study = str(row["study"])
        model = load_study(study).Parameters
        levels = model.drop_later_levels(model.read_levels(row))
        durations.setdefault((study, write_levels(levels)), []).append(row["took_s"])
    return {combination: median(seconds) for combination, seconds in durations.items()}


def count_roles(cell: Cell) -> int:
    """Return how many roles a cell has in a network, the client or the one that sends first."""
    return 2 if cell.product == "none" else 1 + len(list_roles(cell.topology))


class AnswerCounter:
    """The comparisons that a machine can answer with the levers that were added so far."""

    def __init__(
        self,
        found: Mapping[ComparisonKey, list[PlannedAnswer | NoAnswer]],
        durations: Mapping[Combination, float],
    ) -> None:
        self._answers: dict[ComparisonKey, list[PlannedAnswer]] = {}
        self._found = found
        for key, answers in found.items():
            self._answers[key] = [one for one in answers if isinstance(one, PlannedAnswer)]
        # Once, because every lever asks for it.
        self._in_paper_language = {*filter(_is_in_paper_language, found)}
        self._durations = durations
        self._levers: tuple[Lever, ...] = ()
        self._answered: dict[ComparisonKey, PlannedAnswer] = {}
        self._cells: set[Combination] = set()

    def add(self, levers: tuple[Lever, ...]) -> AnsweredClaims:
        """Add levers and return what they add."""
        new = self._list_new(levers)
        cells = frozenset[Combination]().union(*(answer.cells for answer in new.values()))
        added = cells - self._cells
        timed = [self._durations[cell] for cell in added if cell in self._durations]
        studies_of: dict[Lever, set[str]] = {}
        for key, answer in new.items():
            for need in answer.needs:
                studies_of.setdefault(need, set()).add(_name_study(key))
        answered = AnsweredClaims(
            levers,
            claims=self._name_new_claims(new),
            in_paper_language=self._name_new_claims(new, in_paper_language=True),
            comparisons=len(new),
            minutes=sum(timed) / 60,
            untimed_cells=len(added) - len(timed),
            needs={need: tuple(sorted(studies_of[need])) for need in sorted(studies_of)},
        )
        self._levers += levers
        self._answered |= new
        self._cells |= cells
        return answered

    def choose_levers(self, machine: Machine) -> tuple[Lever, ...]:
        """Return the lever that adds most, or the fewest that add something together.

        Most are most claims, then most claims in the paper's language, then most comparisons.
        """
        options: set[frozenset[Lever]] = set()
        for needs in self._list_missing():
            levers_of = {PROCESSOR_EACH if need.kind == "network" else need for need in needs}
            options.add(frozenset(levers_of))
            options |= {frozenset({lever}) for lever in levers_of}
            # Instead of products with an image, what runs their containers.
            others = {lever for lever in levers_of if not CONTAINERS.provides(lever)}
            if len(others) < len(levers_of) and not machine.has_containers:
                options |= {frozenset({CONTAINERS}), frozenset({CONTAINERS, *others})}

        best: tuple[Lever, ...] = ()
        best_rank = (0, 0, 0)
        for option in sorted(options, key=_rank_option):
            if best and len(option) > len(best):
                break
            levers = tuple(sorted(option))
            new = self._list_new(levers)
            in_paper_language = self._name_new_claims(new, in_paper_language=True)
            rank = len(self._name_new_claims(new)), len(in_paper_language), len(new)
            if rank > best_rank:
                best, best_rank = levers, rank
        return best

    def explain_rest(self) -> dict[NoAnswer, tuple[str, ...]]:
        """Return the claims that have no answer, by the first reason that one of them has."""
        explained = {key[0] for key in self._answered}
        reasons: dict[NoAnswer, tuple[str, ...]] = {}
        for reason in get_args(NoAnswer):
            keys = [key for key, answers in self._found.items() if reason in answers]
            claims = dict.fromkeys(key[0] for key in keys if key[0] not in explained)
            if claims:
                reasons[reason] = tuple(claims)
                explained |= claims.keys()
        return reasons

    def _list_new(self, levers: tuple[Lever, ...]) -> dict[ComparisonKey, PlannedAnswer]:
        """Return the first answer of each comparison that these levers, too, let the machine have.

        Answers without a lever come first.
        """
        provided = {*self._levers, *levers}
        new = {}
        for key, answers in self._answers.items():
            if key in self._answered:
                continue
            for answer in answers:
                if _are_provided(answer.needs, provided):
                    new[key] = answer
                    break
        return new

    def _list_missing(self) -> set[frozenset[Lever]]:
        """Return the needs of each answer that are still missing, each combination once."""
        missing = set()
        for key, answers in self._answers.items():
            if key not in self._answered:
                missing |= {answer.needs for answer in answers}
        return {
            frozenset(need for need in needs if not _are_provided({need}, self._levers))
            for needs in missing
        }

    def _name_new_claims(
        self, new: Iterable[ComparisonKey], *, in_paper_language: bool = False
    ) -> tuple[str, ...]:
        """Return the claims of new answers that had none, perhaps in the paper's language only."""
        counted = self._in_paper_language if in_paper_language else self._found
        before = {key[0] for key in self._answered if key in counted}
        added = [key[0] for key in new if key in counted]
        return tuple(dict.fromkeys(name for name in added if name not in before))


def _are_provided(needs: Iterable[Lever], levers: Collection[Lever]) -> bool:
    return all(any(lever.provides(need) for lever in levers) for need in needs)


def _rank_option(levers: frozenset[Lever]) -> tuple[int, bool, list[Lever]]:
    """Return the rank of levers: the fewest come first, and containers after one product."""
    return len(levers), CONTAINERS in levers, sorted(levers)


def _is_in_paper_language(key: ComparisonKey) -> bool:
    return key[1] == find_paper_language(_name_study(key))


def _name_study(key: ComparisonKey) -> str:
    return key[0].partition(".")[0]


def _find_comparisons(
    profile: str, machine: Machine, testable: Sequence[Claim]
) -> dict[ComparisonKey, list[PlannedAnswer | NoAnswer]]:
    """Return every comparison with the cells that answer it, or why none do."""
    # The cells of the profile, each with what is missing for it.
    cells = []
    for cell in choose_cells(SLUGS, profile, [], []):
        if not cell.missing and not machine.replaces(cell.without):
            # Of a machine that is only described: no server has a version.
            cell = replace(cell, identity=cell.parameters.as_json())
            cells.append((cell, machine.list_needs(cell)))

    # Where a claim takes the first of some levels that ran, it takes another where that cell does
    # not run: so the cells that run here are looked at first, and then all.
    here = [(cell, needs) for cell, needs in cells if not needs]
    found: dict[ComparisonKey, list[PlannedAnswer | NoAnswer]] = {}
    for key, answer in chain(_plan_answers(here, testable), _plan_answers(cells, testable)):
        found.setdefault(key, []).append(answer)

    # A processor for each role matters where something is not comparable without.
    refused = {key[0] for key, answers in found.items() if "not comparable" in answers}
    others = [claim for claim in testable if claim.id in refused]
    own = []
    for cell, _ in cells:
        alone = _give_processors(cell)
        if alone is not None:
            own.append((alone, machine.list_needs(alone) | {Lever("network", alone.network)}))
    for key, answer in _plan_answers(own, others):
        found.setdefault(key, []).append(answer)
    return found


def _give_processors(cell: Cell) -> Cell | None:
    """Return a cell in which each role has a processor; None where its study has none like it."""
    network = Network()
    if cell.network != networks.NO_NETWORK:
        network = Network.parse(cell.network)
    if network.cores or "network" not in type(cell.parameters).model_fields:
        return None
    levels = cell.parameters.model_dump() | {"network": str(replace(network, cores=1))}
    try:
        parameters = type(cell.parameters).model_validate(levels)
    except ValidationError:
        return None
    return replace(cell, parameters=parameters, identity=parameters.as_json())


def _plan_answers(
    cells: Iterable[tuple[Cell, frozenset[Lever]]], claims: Iterable[Claim]
) -> Iterator[tuple[ComparisonKey, PlannedAnswer | NoAnswer]]:
    """Yield each comparison with the cells that answer it, or why none can."""
    needs_of = {cell.combination: needs for cell, needs in cells}
    for claim, language, compared in iterate_planned_means([cell for cell, _ in cells], claims):
        key = claim.id, language, format_levels(compared.levels), compared.terms
        refusal = _find_refusal(claim, compared)
        if refusal:
            yield key, refusal
            continue
        read = set[Combination]()
        for mean in compared.means.values():
            read |= {(claim.study, cell) for cell in mean.cells}
        needs = frozenset[Lever]().union(*(needs_of[combination] for combination in read))
        yield key, PlannedAnswer(frozenset(read), needs)


def _find_refusal(claim: MeasuredClaim, compared: ClaimMeans) -> NoAnswer | None:
    """Return why a planned comparison cannot be judged; None where it can."""
    if not compared.is_complete:
        return "not in the profile"
    if find_objection(claim, compared):
        return "not comparable"
    databases = [str(mean.settings.get("database") or "") for mean in compared.means.values()]
    if any(map(is_unchecked, databases)):
        return "unchecked adapter"
    return None


def _count_processors() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return psutil.cpu_count() or 1
