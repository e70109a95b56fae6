"""A table of patients with columns of any kind."""

import numpy as np
import pandas as pd

WARDS = ["Cardiology", "Surgery", "Oncology"]


def draw(n=150, seed=0):
    """Quasi-identifiers, a name to drop and a sensitive diagnosis. One ward and few values rare."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "name": [f"person {number}" for number in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "ward": rng.choice(WARDS, n, p=[0.5, 0.3, 0.2]),
            "admitted": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "code": rng.choice([10, 20, 99], n),
            "smoker": rng.random(n) < 0.3,
            "diagnosis": rng.choice(["I21", "J44", "C50"], n),
        }
    )
    table.loc[:1, "ward"] = "Quarantine"
    table.loc[rng.random(n) < 0.2, "income"] = np.nan
    table.loc[rng.choice(n, n // 10, replace=False), "ward"] = None
    table.loc[[3, 5], "admitted"] = pd.NaT
    return table
