"""A run as an artefact: a folder for those who review or rerun a study.

Begin with `write_artefact`. ARTEFACT.md has the sections for which artefact committees ask;
the same claims, experiments and verdicts are in the metadata of the folder, an RO-Crate.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchbook import paths
from benchbook.analysis.runs import MEANS_FILE, REPETITIONS_FILE
from benchbook.analysis.verdicts import ClaimVerdict, VerdictCounts
from benchbook.files import suite_files
from benchbook.papers.exhibits import load_citation
from benchbook.plots.claim_lines import write_line
from benchbook.plots.provenance import describe_provenance, describe_suites
from benchbook.report.build import PAGE, TEMPLATE
from benchbook.report.crate import (
    DICTIONARY,
    LICENSE,
    METADATA,
    Entity,
    describe_folder,
    refer_to,
)
from benchbook.report.experiments import Experiment, count_minutes, list_experiments
from benchbook.report.merged_run import MergedRun, list_machine_facts, merge_run
from benchbook.report.run_files import write_run
from benchbook.report.tables import load_templates
from benchbook.report.text import name_run
from benchbook.studies.catalogue import SLUGS
from benchbook.text.sentences import VERDICT_MEANINGS
from benchbook.version import describe_version, read_version

APPENDIX: Final = "ARTEFACT.md"

FILES: Final[Mapping[str, str]] = {
    APPENDIX: "this page",
    PAGE: "the report: all claims, figures and tables",
    REPETITIONS_FILE: "every measured value",
    MEANS_FILE: "the means of the blocks, from which verdicts follow",
    DICTIONARY: "the data dictionary: the meaning and unit of each column and metric",
    METADATA: "the same claims, experiments and files for programs, as an RO-Crate",
}
"""The files of an artefact and what each is."""


def write_artefact(name: str, page: Path, folder: Path) -> None:
    """Write the artefact of a run: its report, its data, and what tests each of its claims.

    Parameters
    ----------
    name
        Of the profile, or `benchbook.paths.REFERENCE`.
    page
        The run's report.
    folder
        The folder to write; files of an earlier artefact are replaced, and others described too.
    """
    merged = merge_run(name)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(page, folder / PAGE)
    shutil.copyfile(paths.root() / "data" / DICTIONARY, folder / DICTIONARY)
    if merged.is_reference:
        for file in (REPETITIONS_FILE, MEANS_FILE):
            shutil.copyfile(paths.reference() / file, folder / file)
    else:
        write_run(folder, merged.run.identities or {})
    experiments = list_experiments(merged.run, merged.profile)
    suite_files.write_file(folder / APPENDIX, render_appendix(merged, experiments))
    suite_files.write_file(folder / METADATA, describe_artefact(merged, experiments, folder))


def render_appendix(merged: MergedRun, experiments: Sequence[Experiment]) -> str:
    """Return ARTEFACT.md."""
    verdicts = merged.analysis.verdicts
    experiment_of: dict[str, Experiment] = {}
    for one in experiments:
        experiment_of |= dict.fromkeys([claim.id for claim in one.claims], one)
    tested = [claim for claim in verdicts if claim.id in experiment_of]
    limited = [
        claim
        for claim in verdicts
        if claim.id not in experiment_of or claim.verdict == "not comparable"
    ]
    provenance = describe_provenance(merged.means, merged.run.name)
    parts: dict[str, Any] = {
        "run": name_run(merged),
        "suite": describe_version(),
        "version": read_version(),
        "counts": VerdictCounts.count(verdicts),
        "experiments": experiments,
        "minutes": [count_minutes([one]) for one in experiments],
        "all_minutes": count_minutes(experiments),
        "suites": describe_suites(str(provenance["measured_by"])),
        "facts": list_machine_facts(merged).to_numpy().tolist(),
        "provenance": provenance,
        "files": FILES,
        "license": LICENSE,
        "papers": {study: load_citation(study) for study in SLUGS},
        "claims": _write_rows(tested, experiment_of),
        "limitations": _list_limitations(limited),
        "meanings": VERDICT_MEANINGS,
    }
    return load_templates(TEMPLATE).get_template("artefact.md.j2").render(parts) + "\n"


def _write_rows(
    claims: Iterable[ClaimVerdict], experiment_of: Mapping[str, Experiment]
) -> dict[str, list[list[str]]]:
    """Return one row per claim with its experiment, by study."""
    rows: dict[str, list[list[str]]] = {}
    for claim in claims:
        line = write_line(claim)
        number = experiment_of[claim.id].number
        about = [f"`{claim.id}`", line.says, claim.where, f"E{number}"]
        verdict = f"**{line.verdict}** {line.counts}"
        rows.setdefault(claim.study, []).append([*about, line.result or "none", verdict])
    return rows


def _list_limitations(claims: Iterable[ClaimVerdict]) -> list[list[str]]:
    """Return claims that have no experiment or are not comparable, each with the reason."""
    beyond = "it was measured at levels that the profile does not have"
    return [[f"`{claim.id}`", claim.says, claim.why or beyond] for claim in claims]


def describe_artefact(merged: MergedRun, experiments: Sequence[Experiment], folder: Path) -> str:
    """Return the metadata of an artefact's folder."""
    provenance: Mapping[str, Any] = describe_provenance(merged.means, merged.run.name)
    verdicts = merged.analysis.verdicts
    papers = [_describe_paper(study) for study in SLUGS]
    claims = [_describe_claim(claim) for claim in verdicts]
    reviews = [_describe_verdict(claim) for claim in verdicts]
    ratings = [_describe_rating(*meaning) for meaning in VERDICT_MEANINGS.items()]
    procedures = [_describe_experiment(one) for one in experiments]
    facts = [_describe_fact(*row) for row in list_machine_facts(merged).to_numpy().tolist()]
    databases: Mapping[str, str] = provenance["database_versions"]
    facts += [_describe_fact(f"Database {name}", number) for name, number in databases.items()]
    about = {
        "name": f"Artefact: {name_run(merged)} of benchbook {read_version()}",
        "description": f"{VerdictCounts.count(verdicts)}; {len(experiments)} experiments.",
        "license": {"@id": LICENSE},
        "mentions": refer_to([*claims, *reviews, *procedures, *papers]),
        "additionalProperty": refer_to(facts),
    }
    days = provenance["measured"]
    if days:
        about |= {"datePublished": max(days), "temporalCoverage": f"{min(days)}/{max(days)}"}
    licence = {"@id": LICENSE, "@type": "CreativeWork", "name": "MIT"}
    others = [*papers, *claims, *reviews, *ratings, *procedures, *facts, licence]
    return describe_folder(folder, about, others, FILES)


def _describe_paper(study: str) -> Entity:
    paper = load_citation(study)
    return {
        "@id": paper.url or f"#paper-{study}",
        "@type": "ScholarlyArticle",
        "name": paper.title,
        "creditText": str(paper),
    }


def _describe_claim(claim: ClaimVerdict) -> Entity:
    paper = _describe_paper(claim.study)
    return {
        "@id": f"#{claim.id}",
        "@type": "Claim",
        "name": claim.id,
        "text": claim.says,
        "position": claim.where,
        "appearance": {"@id": paper["@id"]},
    }


def _describe_verdict(claim: ClaimVerdict) -> Entity:
    line = write_line(claim)
    parts = [line.counts, line.result, claim.why]
    return {
        "@id": f"#verdict-{claim.id}",
        "@type": "ClaimReview",
        "name": f"{claim.id}: {claim.verdict}",
        "itemReviewed": {"@id": f"#{claim.id}"},
        "reviewRating": {"@id": _name_rating(claim.verdict)},
        "reviewBody": "; ".join(filter(None, parts)),
    }


def _describe_rating(verdict: str, meaning: str) -> Entity:
    return {
        "@id": _name_rating(verdict),
        "@type": "Rating",
        "name": verdict,
        "description": meaning,
    }


def _name_rating(verdict: str) -> str:
    return f"#{verdict.replace(' ', '-')}"


def _describe_experiment(experiment: Experiment) -> Entity:
    return {
        "@id": f"#E{experiment.number}",
        "@type": "HowTo",
        "name": f"E{experiment.number}",
        "about": [{"@id": f"#{claim.id}"} for claim in experiment.claims],
        "totalTime": f"PT{60 * count_minutes([experiment]):.0f}S",
        "step": experiment.command,
    }


def _describe_fact(name: str, value: str) -> Entity:
    return {
        "@id": f"#machine-{name.lower().replace(' ', '-')}",
        "@type": "PropertyValue",
        "name": name,
        "value": value,
    }
