"""The space in which records are compared."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from sk_microagg._microaggregate import own_copy
from sk_microagg._validation import check_option, check_records


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
