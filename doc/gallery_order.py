"""The order of the examples in the gallery, by hand: from a first release to special topics."""

ORDER = [
    "plot_first_release.py",
    "plot_dates_and_codes.py",
    "plot_risk_and_utility.py",
    "plot_patients_and_visits.py",
    "plot_anonymize_then_train.py",
    "plot_largest_k.py",
    "plot_explanations.py",
    "plot_embeddings.py",
    "plot_whole_table.py",
    "plot_incomplete_table.py",
    "plot_methods_compared.py",
    "plot_million_rows.py",
    "plot_your_own_refiner.py",
]


class ByHand:
    """Sorts the files of examples; those that are not in the list come last, by name."""

    def __init__(self, src_dir):
        pass

    def __call__(self, name):
        """The place of a file."""
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
