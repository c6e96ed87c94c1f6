r"""
Table 2 of Li et al. 2019: the training speed and memory of ELMo, ELMo-A and ELMo-S at the paper's
sizes.

    python -m benchmarks.models

ELMo has a character CNN, AllenNLP's `ElmoLstm` and a sampled softmax over 8,192 of 800,000 words.
All use dense gradients, which training on several GPUs requires. A step is the forward pass, the
backward pass, gradient clipping and Adam, in single precision or, with the suffix `, bfloat16`,
with matrix products in `bfloat16` and a fused Adam.

On a single device ELMo can use faster sparse gradients. To save memory, this is a separate run:

    python -m benchmarks.models --candidates "elmo, sparse gradients" elmo_semfit \
        "elmo, sparse gradients, bfloat16" "elmo_semfit, bfloat16" --out …
"""

import json
import logging
import statistics
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import torch
from _jsonnet import evaluate_snippet
from allennlp.common import Params
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.models import Model
from allennlp.modules.elmo_lstm import ElmoLstm
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn.util import move_to_device
from allennlp.training.optimizers import DenseSparseAdam

import allennlp_semfit  # noqa: F401 (registers what the configs name)
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.modules.contextualizers.contextualizer import Contextualizer
from benchmarks.peak_memory import MakeStep, import_in_fork_server, measure_peak_memory
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved
from benchmarks.synthetic import SizedVocabulary, sample_classes, word_for_class

logger = logging.getLogger("benchmarks.models")

# The models that the documentation compares.
CANDIDATES = ["elmo", "elmo_adaptive", "elmo_semfit"]
CANDIDATES += [f"{name}, bfloat16" for name in CANDIDATES]

CONFIGS = Path(__file__).parent.parent / "training_config"
# The config of `elmo_semfit` at each size. Tests use the small one.
SIZES = {"small": "elmo_semfit.jsonnet", "paper": "one_billion_word/elmo_semfit.jsonnet"}
EMBEDDING_DIMS = {"small": 100, "paper": 300}


# In a process that measures memory, this module may be imported twice, once as the main module.
@Seq2SeqEncoder.register("elmo_lstm", exist_ok=True)
class ElmoLstmEncoder(Contextualizer, Seq2SeqEncoder):
    """AllenNLP's `ElmoLstm` as a contextualizer, "elmo_lstm"."""

    def __init__(self, input_dim: int, hidden_dim: int, cell_size: int, num_layers: int) -> None:
        super().__init__(input_dim, 2 * hidden_dim, num_layers, return_all_layers=False)
        self.lstm = ElmoLstm(input_dim, hidden_dim, cell_size, num_layers, True, 0.0, 3.0, 3.0)

    def forward(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> torch.Tensor:
        layers: torch.Tensor = self.lstm(inputs, mask)
        if not self.training:
            # `bidirectional_lm` checks it on the CPU, and `ElmoLstm` keeps states between batches.
            self.lstm.reset_states()
        return layers[-1]


def read_config(config: str, size: str) -> Dict[str, Any]:
    """
    `elmo_semfit` or another config in `training_config/language_models/`, at one of the `SIZES`. A
    config without a file of the paper's size varies the `elmo_semfit` of that size.
    """
    base = CONFIGS / SIZES[size]
    path = base.with_name(f"{config}.jsonnet")
    if not path.exists():
        path = CONFIGS / "language_models" / path.name
    snippet = path.read_text("utf-8").replace("import '../elmo_semfit.jsonnet'", f"import '{base}'")
    unused = dict.fromkeys(("ONE_BILLION_WORD", "FASTTEXT_MODEL_PATH"), "")
    content: Dict[str, Any] = json.loads(evaluate_snippet(str(path), snippet, ext_vars=unused))
    return content


def build_language_model(name: str, num_classes: int, size: str) -> BidirectionalLm:
    """
    The model of the config in `name`, which may have the variants `, sparse gradients`, of the
    output layer, and `, bfloat16`. `num_classes` is the size of its vocabulary, if any.
    """
    config = name.split(", ")[0]
    params = read_config(config, size)["model"]
    if config == "elmo":
        ours = params["contextualizer"]
        kept = ("input_dim", "hidden_dim", "cell_size", "num_layers")
        params["contextualizer"] = {"type": "elmo_lstm", **{key: ours[key] for key in kept}}
    if "sparse gradients" in name:
        params["head"]["sparse"] = True
    model = Model.from_params(Params(params), vocab=SizedVocabulary(num_classes))
    assert isinstance(model, BidirectionalLm)
    return model.train()


def build_batch(
    model: BidirectionalLm, batch_size: int, num_words: int, num_classes: int, device: torch.device
) -> Dict[str, Any]:
    """
    A batch of random words in the form that the indexers of the config return. Boundary tokens are
    random words, too.
    """
    length = num_words + 2
    classes = sample_classes(num_classes, batch_size * length)
    indexed: Dict[str, Dict[str, torch.Tensor]] = {}
    embedders: Any = model._text_field_embedder._token_embedders
    for indexer in embedders:
        if indexer == "characters":
            to_ids = ELMoCharacterMapper().convert_word_to_char_ids
            ids = torch.tensor([to_ids(word_for_class(word)) for word in classes.tolist()])
            indexed[indexer] = {"elmo_tokens": ids.view(batch_size, length, -1)}
        elif indexer == "fasttext":
            distinct, indices = classes.view(batch_size, length).unique(return_inverse=True)
            dim = model._text_field_embedder.get_output_dim()
            indexed[indexer] = {
                "indices": indices + 1,
                # The first row is for padding.
                "vectors": torch.cat([torch.zeros(1, dim), torch.randn(len(distinct), dim)]),
            }
        else:
            indexed[indexer] = {"tokens": classes.view(batch_size, length) + 1}
    tensors: Dict[str, Any] = move_to_device(indexed, device)
    return tensors


def training_step(
    name: str,
    model: BidirectionalLm,
    num_words: int,
    num_classes: int,
    device: torch.device,
    optimizer: Optional[torch.optim.Optimizer] = None,
) -> MakeStep:
    """
    A function from the number of sentences in a batch, each of `num_words` of `num_classes` words,
    to a training step: forward pass, backward pass, gradient clipping, Adam. Sparse gradients are
    not clipped and use AllenNLP's `dense_sparse_adam`. With `, bfloat16` in `name`, matrix products
    are in `bfloat16` and Adam, except with sparse gradients, is fused.

    `optimizer` may include parameters of other models, since it skips parameters without gradients.
    """
    is_fast = "bfloat16" in name
    parameters = list(model.parameters())
    embeddings = [m for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    sparse = {embedding.weight for embedding in embeddings if embedding.sparse}
    clipped = [parameter for parameter in parameters if parameter not in sparse]
    if sparse:
        optimizer = DenseSparseAdam(list(model.named_parameters()), lr=2e-4)
    optimizer = optimizer or torch.optim.Adam(parameters, lr=2e-4)

    def make_step(batch_size: int) -> Callable[[], None]:
        source = build_batch(model, batch_size, num_words, num_classes, device)

        def step() -> None:
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_fast):
                loss = model(source)["loss"]
            loss.backward()
            torch.nn.utils.clip_grad_norm_(clipped, 5.0)
            for group in optimizer.param_groups:
                if "fused" in group:
                    # On a GPU, fused Adam keeps its states on another device.
                    group["fused"] = is_fast or device.type == "cuda"
            optimizer.step()
            # Free the gradients, so that only one candidate at a time has any.
            optimizer.zero_grad()

        return step

    return make_step


def build_step(
    name: str, num_classes: int, size: str, num_words: int, device: torch.device
) -> MakeStep:
    model = build_language_model(name, num_classes, size).to(device)
    return training_step(name, model, num_words, num_classes, device)


def main() -> None:
    parser = argument_parser("models", __doc__)
    parser.add_argument(
        "--candidates",
        nargs="+",
        default=CANDIDATES,
        help=f"the first is the reference of the others; default: {'; '.join(CANDIDATES)}",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="sentences; at least 4")
    parser.add_argument("--num-words", type=int, default=20, help="words per sentence")
    parser.add_argument("--vocabulary", type=int, default=800_000, help="words")
    parser.add_argument("--size", choices=SIZES, default="paper", help="size of the models")
    args = parse_arguments(parser)
    device, few = args.device, args.batch_size // 4
    torch.manual_seed(1)

    peaks: Dict[str, int] = {}
    for name in args.candidates:
        logger.info("Measuring the memory of %s", name)
        measured, _ = measure_peak_memory(
            build_step,
            (name, args.vocabulary, args.size, args.num_words, device),
            warmup=(name, 12_000, "small", args.num_words, device),
            batch_sizes=(few, 3 * few),
            # Unlimited: only the peak of `max_checked` matters.
            budget=1e15,
            device=device,
            max_checked=args.batch_size,
        )
        peaks[name] = measured[args.batch_size]

    models: Dict[str, BidirectionalLm] = {}
    for name in args.candidates:
        logger.info("Building %s", name)
        # To save memory, both precisions share a model, except on a GPU, where each change of the
        # precision would capture all CUDA graphs again.
        same = device.type == "cpu" and models.get(name.replace(", bfloat16", ""))
        models[name] = same or build_language_model(name, args.vocabulary, args.size).to(device)
    # Shared parameters occur only once.
    parameters = dict.fromkeys(p for model in models.values() for p in model.parameters())
    optimizer = torch.optim.Adam(list(parameters), lr=2e-4)
    candidates: Dict[str, Callable[[], Any]] = {
        name: training_step(name, model, args.num_words, args.vocabulary, device, optimizer)(
            args.batch_size
        )
        for name, model in models.items()
    }
    timings = time_interleaved(candidates, repeats=args.repeats, device=device)

    measures = {
        name: {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "peak_memory_bytes": peaks[name],
            "words_per_second": args.batch_size * args.num_words / statistics.median(timings[name]),
        }
        for name, model in models.items()
    }
    report(args, timings, args.candidates[0], measures)


if __name__ == "__main__":
    import_in_fork_server()
    main()
