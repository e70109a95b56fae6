"""Slopes of predictions along columns, one exchange after the other."""

import numpy as np

from sk_microagg._utils import _target_scaler


def slopes(models, points, column_of, random):
    """All records are looked at, with the same random numbers as in the package."""
    n, n_columns = len(points), column_of.max() + 1
    chosen = points[random.permutation(n)]
    fewest, most = _target_scaler.EXCHANGES
    n_exchanges = min(max(_target_scaler.IN_ALL_COLUMNS // n_columns, fewest), most)
    records = random.randint(n, size=(n_columns, n_exchanges))
    found = []
    for column in range(n_columns):
        partners = random.randint(n, size=(_target_scaler.N_PARTNERS, n_exchanges))
        own = column_of == column
        changes = distances = 0.0
        for record, others in zip(records[column], partners.T, strict=True):
            gaps = [np.sum((chosen[other, own] - chosen[record, own]) ** 2) for other in others]
            different = [place for place, gap in enumerate(gaps) if gap > 0]
            if not different:
                continue
            nearest = min(different, key=lambda place: gaps[place])
            exchanged = np.where(own, chosen[others[nearest]], chosen[record])
            one, other = (model(exchanged[None]) - model(chosen[[record]]) for model in models)
            changes += np.sum(one * other)
            distances += gaps[nearest]
        found.append(np.sqrt(max(changes, 0.0) / distances) if distances else 0.0)
    return np.array(found)
