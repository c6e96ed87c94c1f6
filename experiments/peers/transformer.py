from itertools import islice
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence

import torch
from more_itertools import chunked
from tokenizers import BertWordPieceTokenizer
from tokenizers.processors import BertProcessing
from torch.nn import Module, ModuleList
from torch.nn.functional import cross_entropy
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizerFast,
    DataCollatorForLanguageModeling,
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    ElectraTokenizerFast,
    PreTrainedTokenizerFast,
)

from experiments.peers.clock import TrainingClock, read_sentences, repeat_sentences
from experiments.run_record import count_parameters

VOCABULARY_SIZE = 8000
# WordPiece's vocabulary hardly changes with more text.
VOCABULARY_SENTENCES = 50_000
SEQUENCE_LENGTH = 128
HIDDEN_SIZE = 256
SIZES = {
    "num_hidden_layers": 4,
    "hidden_size": HIDDEN_SIZE,
    "num_attention_heads": 4,
    "intermediate_size": 4 * HIDDEN_SIZE,
    "max_position_embeddings": SEQUENCE_LENGTH,
    # A training of minutes hardly reads a sentence twice, and so does not overfit.
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}

# 8 × 128 = 1,024 pieces an update. A core trains on some 2,500 pieces a second, so that 5 minutes
# are 700 updates; with BERT's batches of 256 they would be 23. The learning rate is that of Geiping
# and Goldstein 2022, who train for a day. Neither has been tuned for minutes.
BATCH_SIZE = 8
LEARNING_RATE = 1e-3

GENERATOR_SIZE = 4
DISCRIMINATOR_WEIGHT = 50.0

Batch = Dict[str, torch.Tensor]


def train_bert(
    files: Sequence[Path], out: Path, clock: TrainingClock, *, seed: int
) -> Dict[str, Any]:
    """
    Trains a `BertForMaskedLM` of 4 layers of 256 dimensions with its own WordPiece vocabulary, and
    writes it and its tokenizer with `save_pretrained`.
    """
    tokenizer = _train_tokenizer(BertTokenizerFast, files)
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **SIZES))

    def loss_of(batch: Batch) -> torch.Tensor:
        hidden = model.bert(batch["input_ids"]).last_hidden_state
        # `BertForMaskedLM.forward` predicts the visible pieces too, and takes almost twice as long.
        is_hidden = batch["labels"] != -100
        return cross_entropy(model.cls(hidden[is_hidden]), batch["labels"][is_hidden])

    record = _train(model, loss_of, tokenizer, files, clock)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return record


def train_electra(
    files: Sequence[Path], out: Path, clock: TrainingClock, *, seed: int
) -> Dict[str, Any]:
    """
    Trains an `ElectraForPreTraining` of 4 layers of 256 dimensions on the output of an
    `ElectraForMaskedLM` of a quarter of the dimensions, which shares its embeddings, and writes the
    former and its tokenizer with `save_pretrained`.
    """
    tokenizer = _train_tokenizer(ElectraTokenizerFast, files)
    # The size of the embeddings is that of ELECTRA-Small.
    sizes = {**SIZES, "vocab_size": len(tokenizer), "embedding_size": HIDDEN_SIZE // 2}
    discriminator = ElectraForPreTraining(ElectraConfig(**sizes))
    for name in ("hidden_size", "num_attention_heads", "intermediate_size"):
        sizes[name] //= GENERATOR_SIZE
    generator = ElectraForMaskedLM(ElectraConfig(**sizes))
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.tie_weights()

    def loss_of(batch: Batch) -> torch.Tensor:
        is_hidden = batch["labels"] != -100
        originals = batch["labels"][is_hidden]
        hidden = generator.electra(batch["input_ids"]).last_hidden_state[is_hidden]
        logits = generator.generator_lm_head(generator.generator_predictions(hidden))
        sampled = torch.multinomial(logits.detach().softmax(dim=-1), 1).squeeze(-1)
        corrupted = batch["input_ids"].masked_scatter(is_hidden, sampled)
        is_wrong = (sampled != originals).long()
        is_replaced = torch.zeros_like(corrupted).masked_scatter(is_hidden, is_wrong)
        discriminator_loss = discriminator(corrupted, labels=is_replaced).loss
        return cross_entropy(logits, originals) + DISCRIMINATOR_WEIGHT * discriminator_loss

    record = _train(ModuleList([generator, discriminator]), loss_of, tokenizer, files, clock)
    discriminator.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return record


def _train_tokenizer(kind: type, files: Sequence[Path]) -> PreTrainedTokenizerFast:
    trainer = BertWordPieceTokenizer(lowercase=False, strip_accents=False)
    text = islice(read_sentences(files), VOCABULARY_SENTENCES)
    trainer.train_from_iterator(text, vocab_size=VOCABULARY_SIZE, show_progress=False)
    ends = ((token, trainer.token_to_id(token)) for token in ("[SEP]", "[CLS]"))
    trainer.post_processor = BertProcessing(*ends)
    options = {"do_lower_case": False, "strip_accents": False, "model_max_length": SEQUENCE_LENGTH}
    return kind(tokenizer_object=trainer._tokenizer, **options)


class _PackedText:
    """
    Iterates over full sequences: `[CLS]`, then sentences, each with `[SEP]` after it. A sentence
    that does not fit continues in the next sequence.
    """

    def __init__(self, files: Sequence[Path], tokenizer: PreTrainedTokenizerFast) -> None:
        self._files = files
        self._tokenizer = tokenizer
        self._words = 0
        self._pieces = 0

    def __iter__(self) -> Iterator[List[int]]:
        start, end = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        pieces: List[int] = []
        for sentences in chunked(repeat_sentences(self._files), 100):
            encoded = self._tokenizer(sentences, add_special_tokens=False, verbose=False)
            for sentence, ids in zip(sentences, encoded["input_ids"]):
                self._words += len(sentence.split())
                self._pieces += len(ids) + 1
                pieces += [*ids, end]
            while len(pieces) >= SEQUENCE_LENGTH - 1:
                yield [start, *pieces[: SEQUENCE_LENGTH - 1]]
                del pieces[: SEQUENCE_LENGTH - 1]

    def words_in(self, sequences: int) -> int:
        """The words in so many sequences, at the average length of the words so far."""
        return round(sequences * (SEQUENCE_LENGTH - 1) * self._words / max(self._pieces, 1))


def _train(
    model: Module,
    loss_of: Callable[[Batch], torch.Tensor],
    tokenizer: PreTrainedTokenizerFast,
    files: Sequence[Path],
    clock: TrainingClock,
) -> Dict[str, Any]:
    parameters = list(model.parameters())
    # RoBERTa's optimizer
    settings: Dict[str, Any] = {"betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.01}
    optimizer = torch.optim.AdamW(parameters, lr=0.0, fused=True, **settings)
    text = _PackedText(files, tokenizer)
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    clock.end_preparation()
    model.train()
    updates = 0
    for sequences, factor in clock.steps(chunked(text, BATCH_SIZE)):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * factor
        batch = collate([{"input_ids": sequence} for sequence in sequences])
        optimizer.zero_grad()
        loss_of(batch).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        updates += 1
    model.eval()
    return {
        "updates": updates,
        "words_read": text.words_in(updates * BATCH_SIZE),
        "trainable_parameters": count_parameters(model),
    }
