import json

import pytest
import torch
from allennlp.common.util import import_module_and_submodules
from gensim.models import KeyedVectors
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertForMaskedLM,
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
)

from experiments.peers import transformer
from tests.experiments.peers.embedding import embed
from tests.tolerance import assert_same_but_for_rounding

SENTENCES = [
    ["Aspirin", "'s", "dogs", "barks", "in", "the", "U.S.", "court", "."],
    ["asleep", "naïvely", "€"],
]


@pytest.mark.parametrize("name", ["word2vec", "bert", "electra"])
def test_a_record_is_written(name, trained):
    directory = trained(name)
    record = json.loads((directory / "record.json").read_text("utf-8"))
    assert record["seed"] == 1
    assert record["updates"] > 0
    assert record["words_read"] > 0
    assert record["trainable_parameters"] > 0
    assert record["commit"]


def test_vectors_of_word2vec_are_those_of_gensim(trained):
    directory = trained("word2vec")
    gensim = KeyedVectors.load_word2vec_format(str(directory / "vectors.txt"))
    (vectors, *_) = embed("word2vec", directory, SENTENCES[:1])
    expected = torch.stack([torch.tensor(gensim[word]) for word in SENTENCES[0]])
    assert_same_but_for_rounding(vectors, expected)


@pytest.mark.parametrize(
    ("name", "kind"), [("bert", BertForMaskedLM), ("electra", ElectraForPreTraining)]
)
def test_vectors_of_transformers_are_means_of_pieces_and_layers(name, kind, trained):
    directory = trained(name)
    _, loading = kind.from_pretrained(directory, output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = AutoModel.from_pretrained(directory, output_hidden_states=True).eval()
    for vectors, words in zip(embed(name, directory, SENTENCES), SENTENCES):
        encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            layers = model(**encoded).hidden_states[1:]
        pieces = torch.stack(layers).mean(dim=0)[0]
        numbers = encoded.word_ids()
        expected = torch.stack(
            [
                pieces[[at for at, number in enumerate(numbers) if number == word]].mean(dim=0)
                for word in range(len(words))
            ]
        )
        assert_same_but_for_rounding(vectors[: len(words)], expected)


def test_sentences_can_be_longer_than_the_sequences_in_training(trained):
    words = SENTENCES[0] * 30
    (vectors,) = embed("bert", trained("bert"), [words])
    assert vectors.shape == (len(words), transformer.HIDDEN_SIZE)
    assert vectors.any(dim=-1).all()


def test_tokenizers_keep_case_and_accents(trained):
    tokenizer = AutoTokenizer.from_pretrained(trained("bert"))
    assert tokenizer.tokenize("Aspirin") != tokenizer.tokenize("aspirin")
    assert "".join(tokenizer.tokenize("naïve")).replace("##", "") == "naïve"
    # As in training.
    pieces = tokenizer("Aspirin 's naïve", add_special_tokens=False).input_ids
    by_word = tokenizer(["Aspirin", "'s", "naïve"], add_special_tokens=False).input_ids
    assert pieces == sum(by_word, [])


def test_text_is_packed_into_full_sequences(trained, text):
    tokenizer = AutoTokenizer.from_pretrained(trained("bert"))
    first, second = (text / "0.txt").read_text("utf-8").splitlines()[:2]
    packed = transformer._PackedText([text / "0.txt"], tokenizer)
    sequences = iter(packed)
    sequence = next(sequences)
    assert len(sequence) == len(next(sequences)) == transformer.SEQUENCE_LENGTH
    start = f"[CLS] {first} [SEP] {second} [SEP]"
    expected = tokenizer(start, add_special_tokens=False).input_ids
    assert sequence[: len(expected)] == expected[: len(sequence)]
    words = " ".join((text / "0.txt").read_text("utf-8").splitlines()[:100])
    pieces = len(tokenizer(words, add_special_tokens=False).input_ids) + 100
    assert packed.words_in(10) == round(10 * 127 * 1000 / pieces)


def test_electra_shares_embeddings(trained):
    directory = trained("electra")
    record = json.loads((directory / "record.json").read_text("utf-8"))
    discriminator = ElectraForPreTraining.from_pretrained(directory)
    hidden_size = transformer.HIDDEN_SIZE // transformer.GENERATOR_SIZE
    config = {**discriminator.config.to_dict(), "hidden_size": hidden_size, "intermediate_size": 4}
    generator = ElectraForMaskedLM(ElectraConfig(**{**config, "num_attention_heads": 1}))
    embeddings = sum(each.numel() for each in discriminator.electra.embeddings.parameters())
    # The generator's output layer is its embeddings, too.
    both = discriminator.num_parameters() + generator.num_parameters()
    assert record["trainable_parameters"] == both - embeddings


def test_allennlp_imports_the_package_without_flair():
    import_module_and_submodules("experiments.peers")
