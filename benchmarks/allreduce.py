"""
Predicts the speed of data-parallel training from the cost of all-reducing the gradients.

In a ring all-reduce of the gradients of `P` parameters in single precision, each of `n` devices
sends and receives

    B(n) = 4 P · 2 (n - 1) / n   bytes

(Patarasuk and Yuan 2009, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations").
If a step of `W` words takes `T` seconds on one device, and a link transfers `L` bytes per second,
all devices together process

    n W / (T + B(n) / L)       words per second, if all-reduce starts after the backward pass
    n W / max(T, B(n) / L)     words per second, if all-reduce overlaps completely with the step

The actual speed is between the two. The model ignores latency, stragglers and the optimizer. These
are predictions, not measurements.
"""

from typing import Dict, Mapping, Tuple

__all__ = ["allreduce_bytes", "predict_speed", "predict_speeds"]

_BYTES_PER_PARAMETER = 4

# Bytes per second of PCI Express 3.0 with 16 lanes, as the GTX 1080 Ti of the paper has.
PCIE_3 = 15.75e9


def allreduce_bytes(parameters: int, num_devices: int) -> float:
    """`B(n)`: the bytes that each device sends per update."""
    return _BYTES_PER_PARAMETER * parameters * 2 * (num_devices - 1) / num_devices


def predict_speed(
    parameters: int, words: float, seconds: float, num_devices: int, link: float
) -> Tuple[float, float]:
    """
    # Parameters

    parameters : `int`
        The number of parameters with dense gradients.
    words : `float`
        The words in the batch of one device.
    seconds : `float`
        The duration of a step on one device.
    num_devices : `int`
    link : `float`
        The bandwidth in bytes per second.

    # Returns

    `Tuple[float, float]`
        Words per second of all devices together, without and with complete overlap.
    """
    all_reduce = allreduce_bytes(parameters, num_devices) / link
    all_words = num_devices * words
    return all_words / (seconds + all_reduce), all_words / max(seconds, all_reduce)


def predict_speeds(
    steps: Mapping[str, Tuple[int, float, float]], num_devices: int, links: Dict[str, float]
) -> Dict[str, Dict[str, float]]:
    """
    A table of the predictions for each model.

    # Parameters

    steps : `Mapping[str, Tuple[int, float, float]]`
        The parameters, the words per step and the seconds per step of each model.
    num_devices : `int`
    links : `Dict[str, float]`
        Bandwidths in bytes per second, by name.
    """
    rows: Dict[str, Dict[str, float]] = {}
    for name, (parameters, words, seconds) in steps.items():
        row: Dict[str, float] = {"allreduce_bytes": allreduce_bytes(parameters, num_devices)}
        for link, rate in links.items():
            none, full = predict_speed(parameters, words, seconds, num_devices, rate)
            row[f"words_per_second, {link}, no overlap"] = none
            row[f"words_per_second, {link}, full overlap"] = full
        rows[name] = row
    return rows
