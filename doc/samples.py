"""The sample report and the sample card of the documentation, which conf.py writes."""

from pathlib import Path

from sk_microagg import TableAggregator
from sk_microagg.datasets import load_visits
from sk_microagg.report import Scenario, make_report

FOLDER = Path(__file__).parent / "_samples"

SCENARIO = Scenario(
    recipient="University of Bonn",
    release_model="public",
    threshold=0.09,
    reasons={
        "age": "neighbors know it",
        "sex": "neighbors know it",
        "town": "neighbors know it",
        "income": "colleagues can estimate it",
        "diagnosis": "what the study is about",
        "id": "names patients",
    },
    reviewed_by="data protection officer",
    review_date="2027-06-30",
)


def write_samples(folder=FOLDER, seconds=10.0):
    """Write report and card of the made-up patients into a folder; return the report."""
    folder.mkdir(exist_ok=True)
    visits = load_visits()
    aggregator = TableAggregator(k=12, drop="id", sensitive="diagnosis")
    release = aggregator.fit_transform(visits)
    report = make_report(
        aggregator,
        visits,
        release,
        title="300 made-up patients",
        source="visits.csv",
        scenario=SCENARIO,
        analysis="income ~ age + sex",
        certificate=seconds,
        shuffled=True,  # It would be published in random order.
    )
    report.save(folder / "report.html")
    report.card().save(folder / "card.html")
    return report
