import os
from collections import abc
from importlib.util import find_spec
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple, Union

import numpy
import torch

from allennlp_semfit.common.errors import (
    ConfigurationError,
    InvalidFileError,
    absolute_path,
    check_bounds,
    first_line,
    resolve_path,
)
from allennlp_semfit.common.parallel import use_one_thread_in_forks
from allennlp_semfit.common.text_files import FOLDER_WEIGHTS
from allennlp_semfit.pretrained.folder_language_model import FolderLanguageModel
from allennlp_semfit.pretrained.pooling import check_pooling, pool_layers, pool_words

DEFAULT_BATCH_SIZE = 64

# Sentences are sorted by length within a window.
WINDOW_SENTENCES = 5_000
WINDOW_WORDS = 50_000

# A batch whose longest sentence has more words than this contains fewer sentences.
_WORDS_A_SENTENCE = 50


class SentenceEmbedder:
    """
    Computes contextual vectors for the words of tokenized sentences: all layers of a trained
    language model. `cuda_device`, `embed_sentence`, `embed_batch` and `embed_sentences` are as in
    AllenNLP's former `ElmoEmbedder`. `batch_size`, `show_progress_bar` and `convert_to_tensor` are
    as in `encode` of sentence-transformers, which takes texts instead of lists of words.

    Tokenize sentences in the same way as the language model's training text. They can have any
    length, and their vectors do not depend on the other sentences of a batch, except by rounding.
    `""` is a word like any other, so split text with `text.split()`, not with `text.split(" ")`.
    The methods raise a `ConfigurationError` if a sentence is not a list of strings.

    An embedder can be pickled; the copy reads the files again.

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    cuda_device : `Union[int, str, torch.device]`, optional (default = `-1`)
        The GPU to run on; `-1` for the CPU.

        A PyTorch device, such as `"cuda"`, is accepted, too.
    bf16 : `bool`, optional (default = `False`)
        Whether to multiply matrices in `bfloat16`. It is faster on GPUs and on CPUs with
        instructions for it, and changes the vectors by about one percent.

    # Raises

    `InvalidFileError`
        If `archive_file` is missing or is not the archive of a language model, or if a file of
        the language model is missing.
    `ConfigurationError`
        If a file does not fit the language model, or the device cannot be used.

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
        cuda_device: Union[int, str, torch.device] = -1,
        bf16: bool = False,
    ) -> None:
        archive_file = os.path.expanduser(archive_file)
        # Constructor arguments for `__reduce__`, with absolute paths.
        self._arguments = (absolute_path(archive_file), cuda_device, bf16)
        self._bf16 = bf16
        # Callers may fork: spaCy's `n_process` does, for example.
        use_one_thread_in_forks()
        device = _to_device(cuda_device)
        layers: Any = FolderLanguageModel.open(archive_file)
        if layers is None:
            layers = _open_with_allennlp(archive_file)
        self._layers = layers.to(device)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), self._arguments

    def identify(self) -> List[Any]:
        """
        The constructor's arguments other than the device, and the time at which the weights of
        `archive_file` were modified, if it is local.
        """
        archive_file, _, *others = self._arguments
        # The modification time of a directory changes with any file in it.
        weights = (FOLDER_WEIGHTS, "weights.th", "best.th")
        paths = [archive_file, *(os.path.join(archive_file, name) for name in weights)]
        times = [os.path.getmtime(path) for path in paths if os.path.isfile(path)]
        return [archive_file, max(times, default=0), *others]

    @property
    def num_layers(self) -> int:
        """The number of layers of the language model, including its projected input."""
        return self._layers.num_layers

    def get_output_dim(self) -> int:
        """The dimension of a vector."""
        return self._layers.get_output_dim()

    def get_sentence_dim(self, layers: str = "all") -> int:
        """The dimension of a vector of `sentence_vectors`. Raises an error for unknown `layers`."""
        check_pooling(layers)
        return self.get_output_dim() * (self.num_layers if layers == "all" else 1)

    def embed_sentence(self, sentence: Sequence[str], *, convert_to_tensor: bool = False) -> Any:
        """
        # Parameters

        sentence : `Sequence[str]`
            Its words.
        convert_to_tensor : `bool`, optional (default = `False`)
            Whether to return a tensor on the language model's device instead of an array.

        # Returns

        `Union[numpy.ndarray, torch.Tensor]`
            The layers, the projected input first; in each vector, the forward half first. Shape
            `(num_layers, length, get_output_dim())`, `float32`.
        """
        return self.embed_batch([sentence], convert_to_tensor=convert_to_tensor)[0]

    def embed_batch(
        self, batch: Sequence[Sequence[str]], *, convert_to_tensor: bool = False
    ) -> List[Any]:
        """
        Embeds sentences, which may be empty, in one batch, padded to the length of the longest.
        Returns the output of `embed_sentence` for each; see there for `convert_to_tensor`.
        """
        batch = list(batch)
        for sentence in batch:
            for word in check_sentence(sentence):
                if not isinstance(word, str):
                    raise ConfigurationError(
                        f"{word!r:.50}: a word must be a string, got {type(word).__name__}; give a "
                        "sentence as a list of strings, several sentences to `embed_sentences`."
                    )
        if not batch:
            return []
        # The user may have moved the module, or called `half()`.
        weights = next(self._layers.parameters())
        device = weights.device
        tensors = {
            name: tensor.to(weights if tensor.is_floating_point() else device)
            for name, tensor in self._layers.index(batch).items()
        }
        precision = torch.autocast(device.type, torch.bfloat16, enabled=self._bf16)
        with torch.inference_mode(), precision:
            tensor = torch.stack(self._layers(tensors), dim=1).float()
        vectors: Any = tensor if convert_to_tensor else tensor.cpu().numpy()
        # A view of one sentence would keep the whole batch in memory, and an inference tensor
        # cannot be used in training.
        copy: Any = torch.clone if convert_to_tensor else numpy.copy
        return [copy(each[:, : len(words)]) for each, words in zip(vectors, batch)]

    def embed_sentences(
        self,
        sentences: Iterable[Sequence[str]],
        batch_size: int = DEFAULT_BATCH_SIZE,
        *,
        convert_to_tensor: bool = False,
    ) -> Iterator[Any]:
        """
        Embeds any number of sentences. To batch sentences of similar length, it holds up to 5,000
        sentences and the vectors of up to 50,000 words in memory: 0.6 GB for three layers of 1,024
        dimensions.

        # Parameters

        sentences : `Iterable[Sequence[str]]`
        batch_size : `int`, optional (default = `64`)
            The maximum number of sentences in a batch. Including padding, a batch of several
            sentences has at most 50 times as many words.
        convert_to_tensor : `bool`, optional (default = `False`)
            See `embed_sentence`.

        # Returns

        `Iterator[Union[numpy.ndarray, torch.Tensor]]`
            For each sentence, in the given order, the output of `embed_sentence`.

        # Raises

        `ConfigurationError`
            If `batch_size` is less than 1.
        """
        check_bounds({"batch_size": batch_size}, at_least=1)
        for window in windows_of(sentences):
            batches = batches_by_length(list(map(len, window)), batch_size)
            vectors: Dict[int, Any] = {}
            for index in range(len(window)):
                while index not in vectors:
                    batch = next(batches)
                    words = [window[number] for number in batch]
                    layers = self.embed_batch(words, convert_to_tensor=convert_to_tensor)
                    vectors.update(zip(batch, layers))
                yield vectors.pop(index)

    def sentence_vectors(
        self,
        sentences: Iterable[Sequence[str]],
        pool: str = "mean",
        layers: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        *,
        show_progress_bar: bool = False,
        convert_to_tensor: bool = False,
    ) -> Any:
        """
        Computes one vector for each sentence.

        # Parameters

        sentences : `Iterable[Sequence[str]]`
            Sentences may be empty. All are in memory at once, but the vectors of their words only
            one batch at a time.
        pool : `str`, optional (default = `"mean"`)
            How the vectors of the words are pooled: `"mean"`, or `"max"`, the maximum of each
            element.
        layers : `str`, optional (default = `"all"`)
            How the layers are pooled first: `"all"`, which concatenates them, as in Perone et al.
            2018, whom the paper follows; `"average"`, their mean; `"normalized"`, their mean after
            `torch.nn.functional.layer_norm` of each; or `"top"`, the last one.
        batch_size : `int`, optional (default = `64`)
            See `embed_sentences`.
        show_progress_bar : `bool`, optional (default = `False`)
            Whether to show one, with the package tqdm.
        convert_to_tensor : `bool`, optional (default = `False`)
            See `embed_sentence`.

        # Returns

        `Union[numpy.ndarray, torch.Tensor]`
            Zeros for an empty sentence. Shape `(num_sentences, get_sentence_dim(layers))`,
            `float32`.

        # Raises

        `ConfigurationError`
            If `pool` or `layers` is unknown, `batch_size` is less than 1, or all sentences have one
            word and some of these contain spaces: then they are texts, as in a table's only column.
        """
        check_pooling(layers, pool)
        check_bounds({"batch_size": batch_size}, at_least=1)
        all_words = list(sentences)
        lengths = [len(check_sentence(words)) for words in all_words]
        # A spaCy token may consist of spaces.
        texts = (words for words in all_words if " " in str(*words).strip())
        if {*lengths} == {1} and (text := next(texts, None)) is not None:
            raise ConfigurationError(
                f"The sentence {text!r:.50} has a text as its only word; split it into words. If "
                "it is a single word, use `embed_sentences`."
            )
        vectors = numpy.zeros((len(all_words), self.get_sentence_dim(layers)), numpy.float32)
        batches: Any = list(batches_by_length(lengths, batch_size))
        if show_progress_bar:
            from tqdm import tqdm

            batches = tqdm(batches, desc="embedding", unit=" batches")
        for batch in batches:
            for index, words in zip(batch, self.embed_batch([all_words[i] for i in batch])):
                vectors[index] = pool_words(pool_layers(words, layers), pool)
        if convert_to_tensor:
            return torch.from_numpy(vectors).to(next(self._layers.parameters()).device)
        return vectors


def _open_with_allennlp(archive_file: Union[str, os.PathLike]) -> torch.nn.Module:
    if find_spec("allennlp") is None:
        # Raise the error of a missing file first.
        resolve_path(archive_file, "`allennlp export-model` makes a folder.", "Language model")
        raise InvalidFileError(
            archive_file,
            "is not a complete folder of `allennlp export-model` with fastText vectors and a "
            "`bidirectional_language_model_lstm`",
            "If it lacks `config.json` or `model.safetensors`, copy it again. Other models need "
            "AllenNLP: pip install 'allennlp_semfit[train]' && pip install --no-deps "
            "allennlp==2.10.1 allennlp-models==2.10.1",
            "Language model",
        )
    from allennlp_semfit.pretrained.elmo_semfit import ArchivedLanguageModel

    return ArchivedLanguageModel(archive_file)


def windows_of(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """
    Groups the sentences into windows, within which `batches_by_length` sorts them: up to 5,000
    sentences and, unless it is a single sentence, 50,000 words.
    """
    window: List[Sequence[str]] = []
    num_words = 0
    for sentence in sentences:
        length = len(check_sentence(sentence))
        num_words += length
        if window and (num_words > WINDOW_WORDS or len(window) == WINDOW_SENTENCES):
            yield window
            window, num_words = [], length
        window.append(sentence)
    if window:
        yield window


def check_sentence(sentence: Any) -> Any:
    """Returns the sentence, or raises a `ConfigurationError` if it is not a list of words."""
    # NumPy arrays are accepted, which are not instances of `abc.Sequence`.
    is_other = isinstance(sentence, (str, bytes, abc.Mapping, abc.Set))
    if is_other or not isinstance(sentence, abc.Collection):
        raise ConfigurationError(
            f"The sentence {sentence!r:.50} is a {type(sentence).__name__}; give a list of its "
            "words."
        )
    return sentence


def batches_by_length(
    lengths: Sequence[int], batch_size: int = DEFAULT_BATCH_SIZE
) -> Iterator[List[int]]:
    """
    Groups sentences into batches of similar length, the longest first, so that an out-of-memory
    error occurs at once. Takes the number of words of each sentence and yields the indices of the
    sentences in each batch. `batch_size` is that of `SentenceEmbedder.embed_sentences`.
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


def _to_device(value: Union[int, str, torch.device]) -> torch.device:
    name: Any = value
    if type(value) is int:
        name = "cpu" if value == -1 else f"cuda:{value}"
    try:
        device = torch.device(name)
        torch.zeros(1, device="cpu").to(device).cpu()
    except (AssertionError, ImportError, RuntimeError, TypeError) as error:
        raise ConfigurationError(
            f"The device {value} cannot be used: {first_line(error).rstrip('.')}. Use -1, the "
            "default, to run on the CPU."
        ) from None
    return device
