import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "builders.py"


def test_builders_benchmark_measures_ours_beside_the_oracle(tmp_path):
    path = tmp_path / "results.json"
    sizes = ["--n", "60", "120", "--d", "2", "--data", "blobs"]
    command = [sys.executable, SCRIPT, *sizes, "--methods", "MDAV", "oracle", "--json", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("MDAV's partition is the oracle's in 2 of 2 cells.\n")
    results = json.loads(path.read_text())
    assert [(cell["method"], cell["n"]) for cell in results["cells"]] == [
        ("MDAV", 60), ("oracle", 60), ("MDAV", 120), ("oracle", 120),
    ]  # fmt: skip
    for cell in results["cells"]:
        assert cell["seconds"] > 0
        assert cell["peak_mb"] >= 0
        assert 0 < cell["loss_percent"] < 100
    assert {row["method"] for row in results["growth"]} == {"MDAV", "oracle"}
