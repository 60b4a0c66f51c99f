"""The report: everything the analyzers tell of some captures, on one page that needs nothing else."""
