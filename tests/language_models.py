"""Untrained language models of each kind of input, as a training leaves them."""

import json
import shutil
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple, Union

import torch
from allennlp.data import Batch, Instance, Token, TokenIndexer, Tokenizer, Vocabulary
from allennlp.data.fields import TextField

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import InvalidFileError
from tests import TABLE, TRAIN, VECTORS
from tests.elmo_weights import write_elmo
from tests.mimick_archive import write_mimick
from tests.untrained import write_untrained

EMPTY = {"type": "empty"}
TARGETS = {"type": "single_id"}
CHARACTER_ENCODING = {
    "type": "character_encoding",
    "embedding": {"num_embeddings": 262, "embedding_dim": 3},
    "encoder": {
        "type": "cnn-highway",
        "activation": "relu",
        "embedding_dim": 3,
        "filters": [[1, 3], [2, 4]],
        "num_highway": 1,
        "projection_dim": 5,
        "projection_location": "after_highway",
    },
}

# The indexers, the embedders, the dimension of the input and the head.
Kind = Tuple[Dict[str, Any], Dict[str, Any], int, Dict[str, Any]]
KINDS: Dict[str, Kind] = {
    "fasttext": (
        {"tokens": TARGETS, "fasttext": {"type": "fasttext", "model_path": VECTORS}},
        {"tokens": EMPTY, "fasttext": {"type": "fasttext", "embedding_dim": 10}},
        10,
        {"type": "adaptive_softmax", "cutoffs": [10, 30], "div_value": 2.0},
    ),
    "mimick": (
        {"mimick": {"type": "mimick", "table_path": TABLE}},
        {"mimick": {"type": "mimick", "embedding_dim": 10}},
        10,
        {"type": "semfit", "embedding_dim": 10},
    ),
    "characters": (
        {"characters": {"type": "elmo_characters"}, "tokens": "single_id"},
        {"characters": CHARACTER_ENCODING, "tokens": "empty"},
        5,
        {"type": "softmax"},
    ),
    "frozen_characters": (
        {"characters": {"type": "elmo_characters"}},
        {"characters": {"type": "elmo_character_cnn"}},
        5,
        {"type": "semfit", "embedding_dim": 5},
    ),
    "words": (
        {"tokens": TARGETS},
        {"tokens": {"type": "embedding", "embedding_dim": 5}},
        5,
        {"type": "softmax", "tie_to_input": True, "embedding_dim": 5},
    ),
    "subwords": (
        {"tokens": {"type": "single_id", "namespace": "subwords"}},
        {"tokens": {"type": "embedding", "embedding_dim": 5, "vocab_namespace": "subwords"}},
        5,
        {"type": "softmax", "namespace": "subwords"},
    ),
}


@Tokenizer.register("chunks")
class ChunkTokenizer(Tokenizer, NamesConfigKey):
    """Cuts words into chunks of as many characters as a JSON file says."""

    def __init__(self, model_path: str) -> None:
        try:
            self.size = json.loads(Path(model_path).read_text())["size"]
        except OSError:
            raise InvalidFileError(
                model_path, "does not exist", "Write it.", kind="subword tokenizer"
            ) from None

    def tokenize(self, text: str) -> List[Token]:
        return self.intra_word_tokenize(text.split())[0]

    def intra_word_tokenize(self, words: List[str]) -> Tuple[List[Token], List[Tuple[int, int]]]:
        subwords: List[Token] = []
        offsets = []
        for word in words:
            first = len(subwords)
            chunks = [word[i : i + self.size] for i in range(0, len(word), self.size)]
            subwords += [Token(chunk) for chunk in chunks or ["@@UNKNOWN@@"]]
            offsets.append((first, len(subwords) - 1))
        return subwords, offsets


def rewritten(archive_file, directory: Path, change) -> Path:
    """A copy of an archive, as a directory, whose configuration went through `change`."""
    if Path(archive_file).is_dir():
        shutil.copytree(archive_file, directory)
    else:
        shutil.unpack_archive(archive_file, directory)
    config = directory / "config.json"
    params = json.loads(config.read_text())
    change(params)
    config.write_text(json.dumps(params))
    return directory


def with_vectors(model_path, archive_file, directory: Path) -> Path:
    """A copy of an archive, as a directory, that reads another fastText file."""

    def change(params):
        params["dataset_reader"]["token_indexers"]["fasttext"]["model_path"] = str(model_path)

    return rewritten(archive_file, directory, change)


def write_language_model(
    directory: Path, kind: Union[str, Kind], *, hidden_dim: int = 6, archive: bool = False, **reader
) -> Path:
    """
    Writes a `bidirectional_lm` with random weights, whose vocabulary is that of the fixtures'
    corpus. A subword model's tokenizer is `tokenizer.json` in the directory; the files of frozen
    characters and of MIMICK are beside it. `kind` is a name in `KINDS` or like its values,
    and `reader` more parameters of the dataset reader. Returns the directory or, with `archive`,
    the `model.tar.gz` in it.
    """
    parts = KINDS[kind] if isinstance(kind, str) else kind
    indexers, embedders, input_dim, head = json.loads(json.dumps(parts))
    directory.mkdir(parents=True)
    reader_config = {"type": "language_modeling", "token_indexers": indexers, **reader}
    if kind == "subwords":
        tokenizer = directory / "tokenizer.json"
        tokenizer.write_text('{"size": 3}')
        reader_config["tokenizer"] = {"type": "chunks", "model_path": str(tokenizer)}
    if kind == "mimick":
        indexers["mimick"]["archive_file"] = str(write_mimick(directory / "mimick"))
    if kind == "frozen_characters":
        options_file, weight_file = write_elmo(directory / "elmo")
        embedders["characters"].update(
            options=json.loads(options_file.read_text()), pretrained_file=str(weight_file)
        )
    config = {
        "dataset_reader": reader_config,
        "model": {
            "type": "bidirectional_lm",
            "text_field_embedder": {"token_embedders": embedders},
            "contextualizer": {
                "type": "bidirectional_language_model_lstm",
                "input_dim": input_dim,
                "hidden_dim": hidden_dim,
                "cell_size": 8,
            },
            "head": {**head, "input_dim": hidden_dim},
        },
    }
    return write_untrained(directory, config, TRAIN, archive)


def tensors_of(
    indexer: TokenIndexer, sentences: Sequence[Sequence[str]]
) -> Dict[str, torch.Tensor]:
    """What the indexer gives for sentences of words in a text field, as AllenNLP makes it."""
    fields = [TextField([Token(word) for word in words], {"elmo": indexer}) for words in sentences]
    batch = Batch([Instance({"text": field}) for field in fields])
    batch.index_instances(Vocabulary())
    tensors: Dict[str, torch.Tensor] = batch.as_tensor_dict()["text"]["elmo"]
    return tensors
