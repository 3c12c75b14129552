"""Renders a results file as a report: tables in the paper's layout, charts, and one page with both.

`sager eval report` writes it. Each table is a module here that builds a `document`; `markdown`, `page` and `charts`
render it.
"""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluation.exceptions import BadResults
from evaluation.report.ablation import PARTS, UPDATES, ablation
from evaluation.report.document import Document, Section, Text
from evaluation.report.every import every, over_seeds
from evaluation.report.hosts import hosts
from evaluation.report.learning import learning
from evaluation.report.main_results import main_results
from evaluation.report.markdown import markdown
from evaluation.report.page import page
from evaluation.report.results import Results
from evaluation.report.sweeps import SLIM, TAU, sweep
from evaluation.store import Store
from streams import replaced

__all__ = ["BASELINE", "compose", "write"]

BASELINE = "no-skill"
_PNG = b"\x89PNG\r\n\x1a\n"


def write(store: Store, out: Path, baseline: str = BASELINE, full: str | None = None) -> list[Path]:
    """Writes `report.md`, `index.html` and their images to a folder, which is created.

    Args:
        store: the results.
        out: the folder; an older report in it is replaced.
        baseline: the arm that the others are compared with.
        full: the arm that ablations remove parts from, if it is not the first of `ablation.FULL`.

    Returns:
        The files: the report, the page, then the images.

    Raises:
        BadResults: there is nothing to report, or a file of the same name is none of these reports.
        NotOurs: no plain file has such a name.
        OSError: the folder cannot be written.
    """
    from evaluation.report.charts import draw  # noqa: PLC0415 - takes a second to import

    document = compose(store, baseline, full)
    pictures = {picture.name: out / f"{picture.name}.png" for picture in document.pictures()}
    _check_older(out, document.title, pictures.values())
    out.mkdir(parents=True, exist_ok=True)
    inside = {}
    with TemporaryDirectory(prefix=".report.", dir=out) as folder:
        for picture in document.pictures():
            drawn = Path(folder, "picture.png")
            draw(picture.chart, drawn)
            inside[picture.name] = drawn.read_bytes()
    report, index = out / "report.md", out / "index.html"
    replaced.replace(report, markdown(document).encode())
    for name, raw in inside.items():
        replaced.replace(pictures[name], raw)
    replaced.replace(index, page(document, inside).encode())
    return [report, index, *pictures.values()]


def _check_older(out: Path, title: str, pictures: Iterable[Path] = ()) -> None:
    """Only an older report is replaced, and pictures beside one."""
    is_report = False
    for name, begins in (("report.md", f"# {title}"), ("index.html", "<!doctype html>")):
        raw = replaced.older(out / name)
        if raw is None:
            continue
        text = raw.decode(errors="replace")
        if not text.startswith(begins) or (title not in text and escape(title) not in text):
            raise BadResults(
                f"{out / name} is not one of these reports: name another folder with --out, or move it away"
            )
        is_report = True
    for picture in pictures:
        raw = replaced.older(picture, len(_PNG))
        if raw is not None and not (is_report and raw == _PNG):
            raise BadResults(f"{picture} belongs to no report: name another folder with --out, or move it away")


def compose(store: Store, baseline: str = BASELINE, full: str | None = None) -> Document:
    """The report's document.

    Raises:
        BadResults: there is nothing to report.
    """
    results = Results(store)
    if not results.rows and not results.curves:
        raise BadResults(f"{store.path} holds no results yet: `sager eval --data DIR --arm NAME` makes some")
    sections = [
        _about(results, baseline),
        *main_results(results, baseline),
        ablation(results, PARTS, full),
        ablation(results, UPDATES, full),
        hosts(results),
        sweep(results, TAU, baseline),
        sweep(results, SLIM, baseline),
        learning(results),
        over_seeds(results),
        every(results),
    ]
    return Document("How well skills rank", [section for section in sections if section])


def _about(results: Results, baseline: str) -> Section:
    newest = max((row.finished_at for row in results.rows), default=None)
    told = f"{len(results.rows)} results on {len(results.data)} data sets"
    told += f", the newest of {newest:%Y-%m-%d}." if newest else "."
    return Section(
        "How to read this",
        [
            Text(
                f"{told} Each user's last choice stands among nine items that they never met: `uniform` ones, each "
                "with the same chance, or `popular` ones, each by how often it is met, so that popularity itself is "
                "worth nothing. H@k is the share of users whose choice came among the first k, N@k their NDCG; with "
                "ten candidates chance has H@1 0.1."
            ),
            Text(
                "Intervals are 95 % bootstrap intervals over users. Differences are paired: they are taken on the "
                f"users that both arms ranked, against `{baseline}` where nothing else is said; p is McNemar's exact "
                "test of H@1, two-sided, and not corrected for how many comparisons stand here. Of several results "
                "with the same settings the newest counts; of several seeds the tables show the one with the most "
                "arms."
            ),
            Text(
                "Where the paper (SAGER, arXiv:2604.14972v2) prints figures for a set like ours, they stand beside or "
                "below ours. They are of other data and another model."
            ),
        ],
    )
