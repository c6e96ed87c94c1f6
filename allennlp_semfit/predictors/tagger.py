"""Taggers of raw sentences, which `export-task` writes."""

import json
from functools import cached_property
from typing import Any, List, Optional

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance, Token
from allennlp.data.dataset_readers.dataset_utils.span_utils import bio_tags_to_spans
from allennlp.models import Model
from allennlp.predictors import Predictor, SentenceTaggerPredictor

from allennlp_semfit.corpus.sentences import blank_pipeline

ANY_LANGUAGE = "xx"
"""spaCy's code for language-independent rules."""

# Maps the prefixes of BIO, IOB1, BIOUL, IOBES and BMES to BIO. AllenNLP decodes BIO even if a
# sequence is ill-formed, as the output of a `simple_tagger` may be.
_BIO = {"B": "B", "I": "I", "L": "I", "U": "B", "M": "I", "E": "I", "S": "B"}


@Model.register("semfit_tagger")
class SemfitTagger(Model):
    """
    Loads another tagger, with `semfit_tagger` as its default predictor and with the language of its
    text: `from_params` returns the other tagger. `allennlp export-task` writes this type into the
    config of a folder.

    Registered as a `Model` with name "semfit_tagger".

    # Parameters

    tagger : `str`
        The type of the tagger, such as `crf_tagger` or `simple_tagger`. All other parameters are
        its own.
    language : `str`, optional (default = `"xx"`)
        See `SemfitTaggerPredictor`.
    """

    default_predictor = "semfit_tagger"

    @classmethod
    def from_params(
        cls,
        params: Params,
        constructor_to_call: Any = None,
        constructor_to_inspect: Any = None,
        **extras: Any,
    ) -> Any:
        language = params.pop("language", ANY_LANGUAGE)
        params["type"] = params.pop("tagger")
        model = Model.from_params(params, **extras)
        model.language = language
        return model


@Predictor.register("semfit_tagger")
class SemfitTaggerPredictor(SentenceTaggerPredictor):
    """
    Tags the words of a sentence. Unlike AllenNLP's `sentence_tagger`, it needs no spaCy model: it
    splits a sentence into words as `allennlp prepare-corpus` does, by the rules of the language.

    Registered as a `Predictor` with name "semfit_tagger", the default for folders of
    `allennlp export-task` with a `crf_tagger` or `simple_tagger`.

    The input is `{"sentence": "Macky Sall dem na Ndakaaru."}`, or a list of words in place of the
    text. The output has:

    - `"words"`;
    - `"tags"`, one per word;
    - `"entities"`, if the tags are in BIO, IOB1, BIOUL or similar: for each, its `"text"`, its
      `"label"`, and the indices of its first word, `"start"`, and of the word after its last,
      `"end"`.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    language : `str`, optional (default = `None`)
        The language, a spaCy code as for `prepare-corpus`. By default, the model's or, if it has
        none, `"xx"`, the rules for any language.
    """

    def __init__(
        self, model: Model, dataset_reader: DatasetReader, language: Optional[str] = None
    ) -> None:
        # The constructor of the base class loads a spaCy model.
        Predictor.__init__(self, model, dataset_reader)
        self._language = str(language or getattr(model, "language", ANY_LANGUAGE))
        labels = model.vocab.get_token_to_index_vocabulary(str(model.label_namespace))
        self._has_entities = any(_to_bio(label) != "O" for label in labels)

    @cached_property
    def _splitter(self) -> Any:
        # Some languages need another package, which lists of words do not need.
        return blank_pipeline(self._language).tokenizer

    def load_line(self, line: str) -> JsonDict:
        try:
            return super().load_line(line)
        except json.JSONDecodeError:
            raise ConfigurationError(
                f'{line.strip()!r} is not JSON: write a line as {{"sentence": "…"}}'
            ) from None

    def dump_line(self, outputs: JsonDict) -> str:
        return json.dumps(outputs, ensure_ascii=False) + "\n"

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        # Some encoders do not accept sentences without words.
        filled = [instance for instance in instances if _words_of(instance)]
        outputs = iter(super().predict_batch_instance(filled) if filled else [])
        return [
            self._describe(words, next(outputs)["tags"] if words else [])
            for words in map(_words_of, instances)
        ]

    def _describe(self, words: List[str], tags: List[str]) -> JsonDict:
        # A `simple_tagger` also tags the padding.
        tags = tags[: len(words)]
        described: JsonDict = {"words": words, "tags": tags}
        if self._has_entities:
            spans = bio_tags_to_spans([*map(_to_bio, tags)])
            described["entities"] = [
                {
                    "text": " ".join(words[start : last + 1]),
                    "label": label,
                    "start": start,
                    "end": last + 1,
                }
                for label, (start, last) in sorted(spans, key=lambda span: span[1])
            ]
        return described

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        sentence = json_dict.get("sentence") if isinstance(json_dict, dict) else None
        if isinstance(sentence, str):
            words = [token.text for token in self._splitter(sentence)]
        elif isinstance(sentence, list) and all(isinstance(word, str) for word in sentence):
            words = sentence
        else:
            raise ConfigurationError(
                f"{json.dumps(json_dict, ensure_ascii=False)}: "
                'it needs a "sentence", a text or a list of words'
            )
        return self._dataset_reader.text_to_instance([Token(word) for word in words])


def _words_of(instance: Instance) -> List[str]:
    tokens = instance["tokens"].tokens  # type: ignore[attr-defined]
    return [token.text for token in tokens]


def _to_bio(tag: str) -> str:
    prefix, dash, label = tag.partition("-")
    return f"{_BIO[prefix]}-{label}" if dash and prefix in _BIO else "O"
