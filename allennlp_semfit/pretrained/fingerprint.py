"""What tells one file of vectors, or a part of one, from another."""

from typing import Any, List, Mapping, NamedTuple

__all__ = ["Part", "Fingerprint"]


class Fingerprint(NamedTuple):
    """
    What the vectors in a file are; the attributes of the file.

    # Parameters

    sentences_sha256 : `str`
        Of the file of sentences.
    num_sentences : `int`
    num_words : `int`
    model_sha256 : `str`
        Of the language model's weights.
    word_vectors_sha256 : `str`
        Of the vectors that the language model reads, for some of the sentences.
    layers : `str`
        `"all"`, `"top"`, `"average"` or `"normalized"`.
    dtype : `str`
        `"float32"` or `"float16"`.
    sentence_to_index : `bool`
        Whether the sentences themselves are in the file too.
    """

    sentences_sha256: str
    num_sentences: int
    num_words: int
    model_sha256: str
    word_vectors_sha256: str
    layers: str
    dtype: str
    sentence_to_index: bool

    def differences(self, attributes: Mapping[str, Any]) -> List[str]:
        """
        What sets vectors with these attributes apart, in words; nothing if they are the same.
        """
        if any(name not in attributes for name in self._fields):
            return ["what `allennlp embed` did not make, or not to the end"]
        found = Fingerprint(*(attributes[name] for name in self._fields))
        differences = []
        if found[:3] != self[:3]:
            differences.append("vectors of other sentences")
        if found.model_sha256 != self.model_sha256:
            differences.append("vectors of another language model")
        # Those are the words of the sentences, and differ where they do.
        if found.word_vectors_sha256 != self.word_vectors_sha256 and not differences:
            differences.append(
                "vectors made with another fastText file or other boundaries or, for a subword "
                "model, another tokenizer or --sub-token-mode"
            )
        if found.layers != self.layers:
            differences.append(f"--{found.layers}, not --{self.layers}")
        if found.dtype != self.dtype:
            differences.append(f"--dtype {found.dtype}, not {self.dtype}")
        if found.sentence_to_index != self.sentence_to_index:
            without = "without" if found.sentence_to_index else "with"
            differences.append(f"what was made {without} --forget-sentences")
        return differences


class Part(NamedTuple):
    """
    Some successive sentences.

    # Parameters

    first : `int`
        The index of the first of them.
    num_sentences : `int`
    num_words : `int`
    """

    first: int
    num_sentences: int
    num_words: int
