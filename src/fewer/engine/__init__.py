"""Where work runs: this machine or a Dask cluster."""
