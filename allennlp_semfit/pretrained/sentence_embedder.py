import hashlib
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device, lazy_groups_of
from allennlp.data import Token, Vocabulary

from allennlp_semfit.pretrained.bilm import PretrainedBiLm
from allennlp_semfit.pretrained.indexer import ElmoSemfitIndexer

__all__ = ["SentenceEmbedder", "batches_by_length"]

DEFAULT_BATCH_SIZE = 64

# Sentences are seldom longer. Of those that are twice as long, a batch holds half as many.
_WORDS_A_SENTENCE = 50


class SentenceEmbedder:
    """
    Contextual vectors of the words of tokenised sentences, all layers of a trained language model.
    Its methods are those that AllenNLP's `ElmoEmbedder` had.

    The words are taken as they are given: split the text as that was split which the language model
    was trained on. A sentence may be longer than those were: it is one sequence.
    Its vectors do not depend on the sentences that share its batch, nor on those before it.

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, or the directory of its training.
    cuda_device : `Union[int, torch.device]`, optional (default = `-1`)
        The GPU to run on; `-1` for the CPU.
    fasttext_model_path : `str`, optional (default = `None`)
        The language model's fastText file, if it is no longer where its archive says.
    tokenizer_path : `str`, optional (default = `None`)
        The tokenizer of a language model that reads subwords, if it is no longer where its
        archive says.
    sub_token_mode : `str`, optional (default = `"first"`)
        What a word has of its subwords, where the language model reads these: `"first"`, the vector
        of the first one, or `"avg"`, their mean. Elsewhere it changes nothing.

    # Raises

    `InvalidFileError`
        If `archive_file` is missing, no archive or that of another model, or if the file that the
        language model reads is missing.
    `ConfigurationError`
        If the fastText file's vectors are of another dimension than those which the language model
        was trained on; if a file is given that it does not read; if `sub_token_mode` is unknown, or
        there is no such device.

    # Example

    ```python
    embedder = SentenceEmbedder("output/elmo_semfit/model.tar.gz")
    layers = embedder.embed_sentence(["The", "cat", "sat", "."])
    last_layer_of_cat = layers[-1, 1]
    ```
    """

    def __init__(
        self,
        archive_file: Union[str, os.PathLike],
        cuda_device: Union[int, torch.device] = -1,
        fasttext_model_path: Optional[str] = None,
        tokenizer_path: Optional[str] = None,
        sub_token_mode: str = "first",
    ) -> None:
        self._device = _check_device(int_to_device(cuda_device))
        layers = PretrainedBiLm.from_archive(archive_file, fasttext_model_path, sub_token_mode)
        self._indexer = ElmoSemfitIndexer(archive_file, fasttext_model_path, tokenizer_path)
        self._layers = layers.to(self._device)
        self._layers.freeze()

    @property
    def num_layers(self) -> int:
        """The layers of the language model; its projected input is the first."""
        return self._layers.num_layers

    def get_output_dim(self) -> int:
        """The dimension of a vector."""
        return self._layers.get_output_dim()

    def embed_sentence(self, sentence: Sequence[str]) -> numpy.ndarray:
        """
        # Parameters

        sentence : `Sequence[str]`
            Its words.

        # Returns

        `numpy.ndarray`
            Shape `(num_layers, length, get_output_dim())`, `float32`: the projected input first;
            the forward half, then the backward half.

        # Raises

        `ConfigurationError`
            If the sentence is a string.
        """
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> List[numpy.ndarray]:
        """
        Embeds sentences all at once, each padded to the length of the longest.

        # Parameters

        batch : `Sequence[Sequence[str]]`
            Any of them may be empty.

        # Returns

        `List[numpy.ndarray]`
            For each sentence, what `embed_sentence` gives. Shape
            `(num_layers, length, get_output_dim())`.

        # Raises

        `ConfigurationError`
            If a sentence is a string.
        """
        for sentence in batch:
            if isinstance(sentence, str):
                raise ConfigurationError(
                    f"The sentence {sentence[:50]!r} is a string; a list of its words is wanted."
                )
        if not any(len(sentence) for sentence in batch):
            return [self._empty_output() for _ in batch]
        tensors = {name: tensor.to(self._device) for name, tensor in self._index(batch).items()}
        with torch.inference_mode():
            layers, _ = self._layers(tensors)
            of_words = [self._layers.pool_to_words(layer, tensors) for layer in layers]
            vectors = torch.stack(of_words, dim=1).cpu().numpy()
        # Copies, so that who keeps one sentence does not keep the batch.
        return [of_one[:, : len(words)].copy() for of_one, words in zip(vectors, batch)]

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[numpy.ndarray]:
        """
        Embeds any number of sentences, `batch_size` of which are in memory.

        # Parameters

        sentences : `Iterable[Sequence[str]]`
        batch_size : `int`, optional (default = `64`)
            See [`batches_by_length`](#batches_by_length).

        # Returns

        `Iterator[numpy.ndarray]`
            For each sentence, in the order given, what `embed_sentence` gives. Shape
            `(num_layers, length, get_output_dim())`.

        # Raises

        `ConfigurationError`
            If a sentence is a string, or `batch_size` less than 1.
        """
        if batch_size < 1:
            raise ConfigurationError(f"`batch_size` is {batch_size}; it takes 1 or more.")
        for group in lazy_groups_of(sentences, batch_size):
            vectors: Dict[int, numpy.ndarray] = {}
            for batch in batches_by_length([len(sentence) for sentence in group], batch_size):
                vectors.update(zip(batch, self.embed_batch([group[index] for index in batch])))
            for index in range(len(group)):
                yield vectors.pop(index)

    def model_fingerprint(self) -> str:
        """The SHA-256 of the language model's parameters."""
        return _digest(self._layers.named_parameters())

    def input_fingerprint(self, sentences: Iterable[Sequence[str]]) -> str:
        """
        The SHA-256 of what the language model reads where there are these sentences, of what stands
        round them, and of how the subwords are joined, if it reads these. It tells apart two
        fastText files or tokenizers, but not two copies of one.
        """
        digest = hashlib.sha256(_digest(self._layers.named_buffers()).encode())
        if self._layers.is_subword:
            digest.update(self._layers.sub_token_mode.encode())
        for sentence in sentences:
            digest.update(_digest(self._index([sentence]).items()).encode())
        return digest.hexdigest()

    def _index(self, batch: Sequence[Sequence[str]]) -> Dict[str, torch.Tensor]:
        # The indexer has a vocabulary of its own.
        vocab = Vocabulary.empty()
        indexed = [
            self._indexer.tokens_to_indices([Token(word) for word in words], vocab)
            for words in batch
        ]
        padding_lengths: Dict[str, int] = {}
        for tokens in indexed:
            for name, length in self._indexer.get_padding_lengths(tokens).items():
                padding_lengths[name] = max(length, padding_lengths.get(name, 0))
        tensors: List[Dict[str, Any]] = [
            self._indexer.as_padded_tensor_dict(tokens, padding_lengths) for tokens in indexed
        ]
        return {name: torch.stack([each[name] for each in tensors]) for name in tensors[0]}

    def _empty_output(self) -> numpy.ndarray:
        return numpy.zeros((self.num_layers, 0, self.get_output_dim()), dtype=numpy.float32)


def batches_by_length(
    lengths: Sequence[int], batch_size: int = DEFAULT_BATCH_SIZE
) -> Iterator[List[int]]:
    """
    Divides sentences into batches of similar length, the longest sentences first, so that a batch
    that does not fit into memory is met at once.

    # Parameters

    lengths : `Sequence[int]`
        The number of words in each sentence.
    batch_size : `int`, optional (default = `64`)
        The most sentences in a batch. It has fewer where they are long: padded, it has at most
        `50 * batch_size` words, or one sentence.

    # Returns

    `Iterator[List[int]]`
        The positions in `lengths`, each of them once.
    """
    batch: List[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        padded_words = (len(batch) + 1) * lengths[batch[0] if batch else index]
        if batch and (len(batch) == batch_size or padded_words > _WORDS_A_SENTENCE * batch_size):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _digest(tensors: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors):
        array = tensor.detach().cpu().contiguous().numpy()
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _check_device(device: torch.device) -> torch.device:
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigurationError(
            f"There is no GPU {device.index or 0}: PyTorch finds {torch.cuda.device_count()}, "
            "counted from 0. Take -1, the default, to run on the CPU."
        )
    return device
