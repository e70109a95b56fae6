import warnings

import numpy as np
import pandas as pd
import pytest

from sk_microagg import KAIM, TableAggregator
from sk_microagg._utils._similar import SIMILAR, warn_of_similar_values
from sk_microagg.cli import main

ALIKE = [
    ["yes", "YES"],
    ["P7", "p7"],
    ["P7", "P7\N{NO-BREAK SPACE}"],
    ["Straße", "STRASSE"],
    ["caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"],
    ["a  b", "a b"],
]


@pytest.mark.parametrize("texts", ALIKE)
def test_texts_that_are_written_differently(texts):
    with pytest.warns(UserWarning, match=SIMILAR):
        warn_of_similar_values("x", [*texts, 1, None])


@pytest.mark.parametrize("texts", [["yes", "no"], ["a b", "ab"], ["e", "é"], [1, "1"], []])
def test_texts_that_differ(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_similar_values("x", texts)


def table():
    who = np.array(["Xanadu", *"AB" * 10, "xanadu", *"AB"])
    return pd.DataFrame({"age": np.arange(24), "who": who})


@pytest.mark.parametrize(
    "model",
    [TableAggregator(2), TableAggregator(2, unit="who"), TableAggregator(1, strata="who"), KAIM(2)],
)
def test_estimators_warn_and_quote_nothing(model):
    with pytest.warns(UserWarning, match="^Column 'who' has values that differ only") as caught:
        model.fit(table())
    assert not any("xanadu" in str(warning.message).lower() for warning in caught)


@pytest.mark.parametrize("options", [[], ["--unit", "who"], ["--method", "kaim"]])
def test_the_command_line_warns(tmp_path, capsys, options):
    table().to_csv(tmp_path / "t.csv", index=False)
    files = [str(tmp_path / name) for name in ("t.csv", "o.csv")]
    assert main(["anonymize", *files, "-k", "2", *options]) == 0
    assert "warning: Column 'who' has values that differ only in case" in capsys.readouterr().err
