"""Versions of Python, of the platform and of the packages that results depend on, for reports of problems."""

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from fewer.engine._worker import cores

_WORKING_ON_FEWER = {"test", "docs", "bench", "dev", "data"}


def show_versions() -> None:
    """Print the versions of Python, fewer and its dependencies, the platform, and the threads of native libraries.

    Paste the output into a report of a problem. Optional dependencies that are not installed are listed as such.

    Examples
    --------
    >>> import fewer
    >>> fewer.show_versions()
    System
        python: 3...
    """
    for title, entries in _sections().items():
        print(title)
        width = max(map(len, entries), default=0) + 4
        for name, value in entries.items():
            print(f"{name:>{width}}: {value}")
        print()


def _sections() -> dict[str, dict[str, str]]:
    core, optional = _dependencies()
    return {
        "System": {
            "python": sys.version.replace("\n", " "),
            "executable": sys.executable,
            "platform": platform.platform(),
            "cores": str(cores()),
        },
        "Packages": {name: _installed(name) for name in ("fewer", *core)},
        "Optional packages": {name: _installed(name) for name in optional},
        "Native libraries": _native_libraries(),
    }


def _dependencies() -> tuple[list[str], list[str]]:
    """Names of the core dependencies and of those that extras bring, as the package declares them."""
    core, optional = [], []
    for requirement in requires("fewer") or []:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if extra is None:
            core.append(name)
        elif extra[1] not in _WORKING_ON_FEWER and name != "fewer":
            optional.append(name)
    return core, sorted(set(optional) - set(core), key=str.lower)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _native_libraries() -> dict[str, str]:
    """Version and threads of each BLAS and OpenMP library that numpy, scipy and scikit-learn have loaded."""
    import sklearn.utils  # noqa: F401  # loads BLAS and OpenMP, with numpy and scipy
    from threadpoolctl import threadpool_info

    return {
        f"{number} {library['internal_api']}": f"{library['version'] or 'unknown version'}, "
        f"{library['num_threads']} threads, {library['filepath']}"
        for number, library in enumerate(threadpool_info(), 1)
    }
