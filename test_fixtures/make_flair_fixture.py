"""
Writes a character language model of flair, with random weights, and its vectors of sentences:

    make peers
    PYTHONPATH=$PWD .venv-peers/bin/python test_fixtures/make_flair_fixture.py
"""

import json
from pathlib import Path

import flair
import torch
from flair.data import Dictionary, Sentence
from flair.embeddings import FlairEmbeddings, StackedEmbeddings
from flair.models import LanguageModel

from experiments.peers.flair_embedder import save_flair_model

DIRECTORY = Path(__file__).parent / "flair"
SENTENCES = [
    ["The", "naïve", "patient", "took", "aspirin", "."],
    ["€", "."],
    # Longer than what flair computes at a time.
    ["acetylsalicylic"] * 40,
]


def main() -> None:
    flair.device = torch.device("cpu")
    torch.manual_seed(1)
    dictionary = Dictionary()
    for character in "\n abcdefghijklmnopqrstuvwxyzTï.":
        dictionary.add_item(character)
    models = [
        LanguageModel(dictionary, is_forward, hidden_size=5, nlayers=1, embedding_size=4)
        for is_forward in (True, False)
    ]
    for model in models:
        model.eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)
    DIRECTORY.mkdir(exist_ok=True)
    save_flair_model(DIRECTORY / "model.pt", *models)
    sentences = [Sentence(words) for words in SENTENCES]
    StackedEmbeddings([FlairEmbeddings(model) for model in models]).embed(sentences)
    rows = [
        {"words": words, "vectors": [token.get_embedding().tolist() for token in sentence]}
        for words, sentence in zip(SENTENCES, sentences)
    ]
    (DIRECTORY / "vectors.json").write_text(json.dumps(rows, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
