"""`risk --weight` prints risks in the population."""

import pandas as pd

from sk_microagg.cli import main


def test_risks_in_the_population(tmp_path, capsys):
    table = pd.DataFrame({"age": [30, 32, 34, 60, 62, 64], "w": [10, 20, 30, 5, 5, 5]})
    release = table.assign(age=[32] * 3 + [62] * 3)
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for path, one in zip(paths, (table, release), strict=True):
        one.to_csv(path, index=False)
    assert main(["risk", *paths, "--weight", "w"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "knows who is in the sample re-identifies" in printed
    assert "33.3% in the mean, and at most 33.3%" in printed
    assert "at most 6.7%" in printed  # 1 in 15 people
