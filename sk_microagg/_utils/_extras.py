"""Dependencies that an extra of the package installs."""

import importlib
from typing import Any


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import an optional dependency, or name the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module}, which is not installed: pip install 'sk-microagg[{extra}]'"
        ) from error


def check_report_extra() -> None:
    """Raise an ImportError that names the extra if a report cannot be written without it."""
    for module in ("matplotlib", "jinja2"):
        import_extra(module, "report", "A report")
