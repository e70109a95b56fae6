"""Time and peak memory of a call, measured in a separate process."""

import ctypes
import json
import math
import os
import platform
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import version

try:
    import resource
except ImportError:  # not a Unix
    resource = None

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def machine_facts():
    """Return the relevant properties of the machine, without identifying it."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        **packages,
    }


def run_alone(script, task, timeout):
    """Run `script --cell task` in a new interpreter, and return the JSON that it prints.

    A run that fails or exceeds the timeout gives {"error": reason}.
    """
    command = [sys.executable, script, "--cell", json.dumps(task)]
    environment = os.environ | ONE_THREAD
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"error": f"killed after {timeout:g} s"}
    if done.returncode:
        message = done.stderr.strip() or f"exit code {done.returncode}"
        return {"error": message.splitlines()[-1][:80]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(call, *, enough_seconds=1.0, most_runs=5):
    """Call a function once, and again while that is cheap; return result and measurements.

    Returns
    -------
    result : object
        Result of the first call.

    measured : dict
        "seconds" of the fastest run; the minimum of "cpu_seconds", which excludes waiting for a
        busy machine; the number of "runs"; and "peak_mb", the increase in the memory of the process
        during the first run.
    """
    before = _restart_peak()
    times, result = _timed(call)
    peak = _peak_memory() - before
    runs = [times]
    while sum(seconds for seconds, _ in runs) < enough_seconds and len(runs) < most_runs:
        runs.append(_timed(call)[0])
    seconds, cpu_seconds = map(min, zip(*runs, strict=True))
    measured = {"seconds": seconds, "cpu_seconds": cpu_seconds}
    return result, measured | {"runs": len(runs), "peak_mb": peak / 1e6}


def predict_seconds(n, cells, least_growth):
    """Predict the seconds of a method from its cells in ascending order of n; 0 without any."""
    ran = [cell for cell in cells if "seconds" in cell]
    if not ran:
        return 0.0
    # At small n fixed costs dominate, which would underestimate the growth.
    power = least_growth if len(ran) < 2 else max(least_growth, growth(ran))
    return ran[-1]["seconds"] * (n / ran[-1]["n"]) ** power


def growth(cells):
    """Return the slope of log seconds over log n between the two largest n run, or None."""
    ran = [cell for cell in cells if "seconds" in cell]
    if len(ran) < 2:
        return None
    low, high = ran[-2:]
    return math.log(high["seconds"] / low["seconds"]) / math.log(high["n"] / low["n"])


def cap_memory(share=0.8):
    """Make this process fail if it allocates more than a share of the RAM."""
    if resource is not None and hasattr(os, "sysconf"):
        most = int(share * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _timed(call):
    start = time.perf_counter(), time.process_time()
    result = call()
    return (time.perf_counter() - start[0], time.process_time() - start[1]), result


def _restart_peak():
    """Reset the peak to the memory in use, if the system allows it; return it in bytes."""
    # Imports and data generation temporarily used more. Return freed memory to the system first: a
    # method that reuses it would appear to need none.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError), open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    return _peak_memory()


def _peak_memory():
    """Return the peak memory of this process in bytes."""
    try:
        # On Linux ru_maxrss survives exec: a child would start at the peak of its parent.
        with open("/proc/self/status") as status:
            peak = next(line for line in status if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024
    except (OSError, StopIteration):
        if resource is None:
            return float("nan")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
