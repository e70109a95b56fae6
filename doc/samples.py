"""The sample report and the sample card of the documentation, which conf.py writes."""

import json
from pathlib import Path

from sk_microagg.datasets import load_visits
from sk_microagg.release import ReleaseRequest, release_file
from sk_microagg.release._release import Progress

FOLDER = Path(__file__).parent / "_samples"

SCENARIO = {
    "recipient": "University of Bonn",
    "release_model": "public",
    "threshold": 0.09,
    "reasons": {
        "age": "neighbors know it",
        "sex": "neighbors know it",
        "town": "neighbors know it",
        "income": "colleagues can estimate it",
        "diagnosis": "what the study is about",
        "id": "names patients",
    },
    "reviewed_by": "data protection officer",
    "review_date": "2027-06-30",
}


def write_samples(folder=FOLDER, seconds=10.0):
    """Write report and card of the made-up patients into a folder; return what the report says."""
    folder.mkdir(exist_ok=True)
    load_visits().to_csv(folder / "visits.csv", index=False)
    request = ReleaseRequest(
        folder / "visits.csv",
        folder / "release.csv",
        k=12,
        drop=["id"],
        sensitive=["diagnosis"],
        shuffle=True,
        scenario=SCENARIO,
        analysis=["income ~ age + sex"],
        certificate=seconds,
        report=folder / "report.html",
        card=folder / "card.html",
        overwrite=True,
        random_state=0,
    )
    release_file(request, progress=Progress())
    as_document = {"report": folder / "report.json", "card": None, "certificate": None}
    release_file(request.replace(**as_document), progress=Progress())
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))
