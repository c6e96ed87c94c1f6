"""ELMo with random weights, in the files that AllenNLP reads it from."""

import json
from pathlib import Path
from typing import Dict, Sequence, Tuple

import h5py
import numpy

# The sizes of the published `elmo_2x4096_512_2048cnn_2xhighway`.
ORIGINAL_SIZES: Dict[str, object] = {
    "cell_size": 4096,
    "projection_dim": 512,
    "num_layers": 2,
    "filters": ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)),
    "num_highways": 2,
    "character_dim": 16,
}

# The 256 bytes, the start and end marks of words and sentences, and the padding.
_NUM_CHARACTERS = 261


def write_elmo(
    directory: Path,
    *,
    cell_size: int = 8,
    projection_dim: int = 5,
    num_layers: int = 2,
    filters: Sequence[Tuple[int, int]] = ((1, 3), (2, 4)),
    num_highways: int = 1,
    character_dim: int = 4,
) -> Tuple[Path, Path]:
    """
    Writes an ELMo of these sizes into `directory`, and returns its options file and weight file.
    A filter of the character CNN is a pair: its width in characters, and the number of filters.
    """
    directory.mkdir(parents=True, exist_ok=True)
    options_file, weight_file = directory / "options.json", directory / "weights.hdf5"
    options = {
        "lstm": {
            "use_skip_connections": True,
            "projection_dim": projection_dim,
            "dim": cell_size,
            "n_layers": num_layers,
            "cell_clip": 3,
            "proj_clip": 3,
        },
        "char_cnn": {
            "activation": "relu",
            "filters": [list(pair) for pair in filters],
            "n_highway": num_highways,
            "embedding": {"dim": character_dim},
            "n_characters": _NUM_CHARACTERS + 1,
            "max_characters_per_token": 50,
        },
    }
    options_file.write_text(json.dumps(options), "utf-8")

    generator = numpy.random.default_rng(1)
    num_filters = sum(number for _, number in filters)
    with h5py.File(weight_file, "w") as out:

        def write(name: str, *shape: int) -> None:
            # Scaled so that outputs are about as large as inputs.
            fan_in = numpy.prod(shape[:-1], dtype=int)
            weights = generator.standard_normal(shape, dtype=numpy.float32)
            out[name] = weights / numpy.sqrt(numpy.float32(max(fan_in, 1)))

        write("char_embed", _NUM_CHARACTERS, character_dim)
        for index, (width, number) in enumerate(filters):
            write(f"CNN/W_cnn_{index}", 1, width, character_dim, number)
            write(f"CNN/b_cnn_{index}", number)
        for index in range(num_highways):
            for gate in ("transform", "carry"):
                write(f"CNN_high_{index}/W_{gate}", num_filters, num_filters)
                write(f"CNN_high_{index}/b_{gate}", num_filters)
        write("CNN_proj/W_proj", num_filters, projection_dim)
        write("CNN_proj/b_proj", projection_dim)
        for direction in range(2):
            for layer in range(num_layers):
                cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
                write(f"{cell}/W_0", 2 * projection_dim, 4 * cell_size)
                write(f"{cell}/B", 4 * cell_size)
                write(f"{cell}/W_P_0", cell_size, projection_dim)
    return options_file, weight_file
