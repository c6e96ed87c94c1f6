from pathlib import Path
from typing import Any, Dict, Sequence

from gensim.models import Word2Vec
from more_itertools import chunked

from experiments.peers.clock import TrainingClock, read_sentences, repeat_sentences

DIMENSIONS = 100
SENTENCES_PER_CALL = 1000


def train_word2vec(
    files: Sequence[Path], out: Path, clock: TrainingClock, *, seed: int
) -> Dict[str, Any]:
    """
    Trains gensim's `Word2Vec`, a skip-gram model with otherwise default options, and writes its
    vectors as text, which AllenNLP's `embedding` reads.

    The learning rate decreases from gensim's default to 0 as in its own schedule, which is by words
    in place of time.
    """
    model = Word2Vec(sg=1, vector_size=DIMENSIONS, workers=1, seed=seed)
    model.build_vocab(sentence.split() for sentence in read_sentences(files))
    clock.end_preparation()
    peak = model.alpha
    updates = words_read = 0
    text = chunked(map(str.split, repeat_sentences(files)), SENTENCES_PER_CALL)
    for sentences, factor in clock.steps(text, warmup=0.0):
        rates = {"start_alpha": peak * factor, "end_alpha": peak * factor}
        trained, read = model.train(sentences, total_examples=len(sentences), epochs=1, **rates)
        updates += trained
        words_read += read
    model.wv.save_word2vec_format(str(out / "vectors.txt"))
    return {
        # One for each word that was not dropped by frequency.
        "updates": updates,
        "words_read": words_read,
        "trainable_parameters": model.wv.vectors.size + model.syn1neg.size,
    }
