"""
What training on several devices costs, predicted: every update exchanges the gradients.

A ring all-reduce among `n` devices of the gradients of `P` parameters in single precision has each
device send and receive

    B(n) = 4 P · 2 (n - 1) / n   bytes

(Patarasuk and Yuan 2009, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations").
With a step of `T` seconds for `W` words on one device, and a link of `L` bytes a second, all
devices together read, in a second,

    n W / (T + B(n) / L)       words, if the exchange waits for the backward pass to end
    n W / max(T, B(n) / L)     words, if all of it runs beside the step

and what is true is between the two. Latency, the slowest device and the optimizer are not in it:
these are predictions, and bounds at that, not measurements.
"""

from typing import Dict, Mapping, Tuple

__all__ = ["bytes_exchanged", "predicted_speed", "predictions"]

_BYTES_PER_PARAMETER = 4

# In bytes a second. PCI Express 3.0 with 16 lanes is what the paper's GTX 1080 Ti have.
PCIE_3 = 15.75e9


def bytes_exchanged(parameters: int, num_devices: int) -> float:
    """`B(n)`: what a device sends in an update."""
    return _BYTES_PER_PARAMETER * parameters * 2 * (num_devices - 1) / num_devices


def predicted_speed(
    parameters: int, words: float, seconds: float, num_devices: int, link: float
) -> Tuple[float, float]:
    """
    # Parameters

    parameters : `int`
        Those with a gradient, all dense.
    words : `float`
        In a device's batch.
    seconds : `float`
        A step's, on one device.
    num_devices : `int`
    link : `float`
        Bytes a second.

    # Returns

    `Tuple[float, float]`
        Words a second of all devices together, without any overlap and with a full one.
    """
    exchange = bytes_exchanged(parameters, num_devices) / link
    all_words = num_devices * words
    return all_words / (seconds + exchange), all_words / max(seconds, exchange)


def predictions(
    steps: Mapping[str, Tuple[int, float, float]], num_devices: int, links: Dict[str, float]
) -> Dict[str, Dict[str, float]]:
    """
    A table of what is predicted for each model.

    # Parameters

    steps : `Mapping[str, Tuple[int, float, float]]`
        For each model its parameters, the words of a step and its seconds.
    num_devices : `int`
    links : `Dict[str, float]`
        By name, in bytes a second.
    """
    rows: Dict[str, Dict[str, float]] = {}
    for name, (parameters, words, seconds) in steps.items():
        row: Dict[str, float] = {"exchanged_bytes": bytes_exchanged(parameters, num_devices)}
        for link, rate in links.items():
            none, full = predicted_speed(parameters, words, seconds, num_devices, rate)
            row[f"words_per_second, {link}, no overlap"] = none
            row[f"words_per_second, {link}, full overlap"] = full
        rows[name] = row
    return rows
