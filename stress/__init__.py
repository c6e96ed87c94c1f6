"""
Damages what the package reads, and interrupts what it writes. `python -m stress --help` has the
options, docs/reliability.md what the results mean.
"""
