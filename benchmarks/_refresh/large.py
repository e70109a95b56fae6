"""Tables of large data: growth, cuts, and Dask."""

import numpy as np

from _refresh.formats import cells_by, note, percent, seconds, spaced
from _refresh.pages import Table

# Of eight columns: 64 to the blocks, and 72 back.
BYTES_IN_TRANSIT = 64 + 72
N_CORES = 64


def growth(kept):
    found = cells_by(kept["results"]["growth"]["cells"], "d", "n", "method")
    rows = []
    for d, n in sorted({(d, n) for d, n, _ in found}):
        default, bare = (found[d, n, method] for method in ("defaults", "refiner=None"))
        row = [f"{spaced(n)} × {d}", seconds(default["cpu_seconds"])]
        row += [f"{default['loss_percent']:#.3g}%", f"{default['peak_mb']:.0f} MB"]
        rows.append([*row, seconds(bare["cpu_seconds"]), f"{bare['peak_mb']:.0f} MB"])
    titles = ["records × columns", "default", "information loss", "peak memory"]
    return Table([*titles, "``refiner=None``", "its peak memory"], rows, note(kept))


def cuts(kept):
    found = cells_by(kept["results"]["cuts"]["cells"], "data", "d", "block_size", "stitch")
    rows = []
    for data, d in dict.fromkeys((data, d) for data, d, *_ in found):
        name = f"{'20 blobs' if data == 'blobs' else data}, d = {d}"
        whole = found[data, d, None, False]
        rows.append([name, "one block", "–", seconds(whole["cpu_seconds"]), "–", "–"])
        for size in sorted({s for a, b, s, _ in found if (a, b) == (data, d) and s}, reverse=True):
            row = [name, spaced(size)]
            for stitch in (False, True):
                cell = found[data, d, size, stitch]
                row += [percent(cell["loss_above_percent"], 1), seconds(cell["cpu_seconds"])]
            rows.append(row)
    titles = ["data", "block size", "cuts alone", "seconds", "stitched", "seconds"]
    return Table(titles, rows, note(kept))


def dask(kept):
    rows = [
        [
            f"{spaced(cell['rows'])} × {cell['columns']}",
            refiner_of_dask(cell),
            seconds(cell["seconds"]),
            f"{core_microseconds(cell):.0f} µs",
            f"{cell['peak_worker_mb']:.0f} MB",
            f"{cell['model_bytes'] / cell['rows']:.0f} bytes",
        ]
        for cell in kept["results"]["cells"]
    ]
    titles = ["rows × columns", "refiner", "time", "core time per row", "largest worker"]
    return Table([*titles, "model per row"], rows, note(kept))


def refiner_of_dask(cell):
    return "``None``" if cell["refiner"] == "none" else f'``"{cell["refiner"]}"``'


def core_microseconds(cell):
    return 1e6 * cell["seconds"] * cell["workers"] / cell["rows"]


def dask_extrapolated(kept):
    """Return what the time per row would mean for many cores, if storage kept up."""
    cells = kept["results"]["cells"]
    rows = []
    for name, n in (("100 million", 10**8), ("1 billion", 10**9)):
        times = [core_microseconds(cell) * n / 1e6 / N_CORES for cell in cells]
        model = np.mean([cell["model_bytes"] / cell["rows"] for cell in cells])
        shown = [f"{time:.0f} s" if time < 90 else f"{time / 60:.0f} min" for time in times]
        rows.append(
            [name, *shown, f"{BYTES_IN_TRANSIT * n / 1e9:.0f} GB", f"{model * n / 1e9:.1f} GB"]
        )
    titles = [f"{refiner_of_dask(cell)}, {N_CORES} cores" for cell in cells]
    return Table(["rows × 8 columns", *titles, "in transit", "model"], rows)
