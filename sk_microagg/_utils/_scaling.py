"""The space in which records are compared."""

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from sk_microagg._utils._validation import check_option, check_records, own_copy

# What they make of a value depends on the value and its column only, to the last digit.
CELL_BY_CELL = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)

# Rows that are scaled alone, to see how that rounds.
N_ALONE = 200

# What is seen in some batches, times this, is taken for what may happen in any.
SAFETY = 4.0


def make_scaler(scaler):
    """Return a scaler of its own for each call, from a name or an object, or None."""
    if isinstance(scaler, str):
        check_option("scaler", scaler, ("standard",))
        return StandardScaler()
    if scaler is None:
        return None
    return own_copy("scaler", scaler, ("fit", "transform"), "'standard', None or ")


def own_floats(scaler, records):
    """Records as float64, in a copy unless the scaler is known to leave them alone."""
    is_harmless = type(scaler) is StandardScaler and scaler.copy
    return records.astype(np.float64, copy=not is_harmless)


def scale(scaler, records):
    """Records in the space in which they are compared."""
    if scaler is None:
        return check_records(records)
    scaled = scaler.transform(own_floats(scaler, records))
    scaled = check_records(scaled, name=f"X scaled by {type(scaler).__name__}")
    if len(scaled) != len(records):
        raise ValueError(
            f"scaler={scaler!r} made {len(scaled)} records of {len(records)}; "
            "it must keep their number."
        )
    return scaled


def rounding_of(scaler, records, scaled):
    """How far scaled values may be off if their rows come in another batch, alone, or elsewhere.

    A matrix product rounds differently by the number of rows, and where a column holds nothing but
    rounding, as a component without variance that is whitened, it is another one each time.

    Parameters
    ----------
    scaler : transformer or None
        The fitted scaler.

    records, scaled : ndarray of shape (n_samples, n_features)
        The records, and what the scaler has made of them all together.

    Returns
    -------
    rounding : ndarray of shape (n_scaled_features,)
        The largest difference in each column; all 0 for scalers that are known to make none.
    """
    if scaler is None or type(scaler) in CELL_BY_CELL:
        return np.zeros(scaled.shape[1])
    rows = np.unique(np.linspace(0, len(records) - 1, N_ALONE).astype(np.intp))
    alone = np.vstack([scale(scaler, records[[row]]) for row in rows])
    backwards = scale(scaler, np.ascontiguousarray(records[::-1]))[::-1]
    seen = np.maximum(
        np.abs(alone - scaled[rows]).max(axis=0), np.abs(backwards - scaled).max(axis=0)
    )
    # A digit more than was seen may be lost elsewhere.
    return SAFETY * np.maximum(seen, np.finfo(np.float64).eps * np.abs(scaled).max(axis=0))
