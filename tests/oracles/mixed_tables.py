"""Tables with categories, numbers and holes."""

import numpy as np
import pandas as pd

COUNTRIES = {"Europe": ["France", "Spain"], "Asia": ["India", "Japan", "Nepal"]}
HIERARCHIES = {"country": COUNTRIES}


def draw(n, seed=0, share_missing=0.1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "country": rng.choice(["France", "Spain", "India", "Japan", "Nepal"], n),
            "sex": rng.choice(["F", "M"], n),
            "income": np.round(rng.lognormal(size=n), 3),
        }
    )
    return frame.mask(rng.random(frame.shape) < share_missing)


def covers(cell, value):
    """Whether a released cell is true of a value of `draw`."""
    if cell == "*":
        return True
    if pd.isna(value):
        return False
    if isinstance(value, str):
        return cell == value or value in COUNTRIES.get(cell, [])
    ends = [float(end) for end in cell.strip("[]").split(", ")]
    return ends[0] <= value <= ends[-1]
