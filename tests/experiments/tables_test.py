from experiments.results import PAIRED_TASKS, sort_representations
from experiments.tables import TABLES


def run_of(task, representation, score, seed=1):
    return {"task": task, "representation": representation, "seed": seed, "score": score}


def model_of(name, **others):
    return {
        "name": name,
        "corpus": "novels",
        "seconds": 600,
        "words_per_second": 1000.0,
        "speed_up": 2.0,
        "updates": 1234,
        "trainable_parameters": 2_450_001,
        **others,
    }


RESULTS = {
    "tasks": [
        run_of("ner", "elmo_semfit", 25.0, seed=1),
        run_of("ner", "elmo_semfit", 27.0, seed=2),
        run_of("ner", "elmo_semfit", 32.0, seed=3),
        run_of("ner", "fasttext", 20.04),
        run_of("snli", "none", 33.3),
        run_of("yor", "fasttext", 80.0),
        run_of("ner", "elmo-15min", 21.0),
        run_of("ner", "elmo-5min", 20.0),
        *(run_of(task, "bert-15min", 50.0) for task in PAIRED_TASKS),
        run_of("srl", "elmo_fasttext-15min", 22.0),
        run_of("ner", "bert-15min", 54.0, seed=2),
    ],
    "language_models": [
        model_of("elmo_semfit"),
        model_of("elmo-15min", words_read=1_200_000),
        model_of("elmo-15min", words_read=1_400_000),
        {"name": "bert-15min", "corpus": "novels", "words_read": 10, "trainable_parameters": 3e6},
        {"name": "bert-15min", "corpus": "yor", "words_read": 9e9, "trainable_parameters": 4e6},
    ],
    "senteval": [
        {"representation": "fasttext", "average": 70.06, "scores": {"MR": 75.0, "SICK-R": 71.04}}
    ],
    "groups": [
        {**run_of(task, name, None), "group": group, "f1": f1, "annotated": 1200}
        for task, name, group, f1 in (
            ("bc5cdr", "elmo_semfit-5min", "oov", 75.0),
            ("yor", "elmo_semfit", "all", 80.0),
            ("yor", "elmo_semfit", "all", 82.0),
            ("wol", "elmo_semfit", "unseen", 70.0),
            ("wol", "bert-5min", "unseen", 60.0),
            ("yor", "bert-15min", "all", 50.0),
        )
    ],
    "embedding_speed": [{"label": "elmo_semfit", "words_per_second": 12345}],
    "claims": [
        {
            "representation": name,
            "other": other,
            "tasks": ["snli", "ner"][:num_tasks],
            "mean": mean,
            "low": mean - 1,
            "high": mean + 1,
            "seeds": seeds,
        }
        for name, other, num_tasks, mean, seeds in (
            ("elmo_semfit-5min", "elmo_adaptive-5min", 2, 0.25, 3),
            ("elmo_semfit-15min", "elmo_adaptive-15min", 2, -1.5, 3),
            ("elmo_semfit-15min", "elmo-15min", 2, 1.5, 1),
            ("elmo_semfit-15min", "fasttext", 2, 9.0, 3),
            ("elmo_semfit-15min", "flair-15min", 1, 9.0, 3),
            ("elmo_semfit", "fasttext", 2, 9.0, 3),
        )
    ],
}


def rows(table, results=RESULTS):
    """The cells of each line."""
    lines = [line[1:-1].split("|") for line in TABLES[table](results).splitlines()]
    return [[cell.strip() for cell in line] for line in lines if set("".join(line)) - set(":-")]


def test_representations_have_one_order():
    names = ["elmo_semfit", "unheard_of", "elmo-all-layers", "elmo", "none", "elmo", "another"]
    expected = ["none", "elmo", "elmo-all-layers", "elmo_semfit", "another", "unheard_of"]
    assert sort_representations(names) == expected


def test_tasks_have_the_mean_and_the_deviation_of_the_seeds_by_minutes():
    assert rows("minutes") == [
        [
            "minutes",
            "representation",
            "words read",
            "`snli`, accuracy",
            "`ner`, F1",
            "`srl`, F1",
            "`bc5cdr`, F1",
            "mean",
        ],
        ["", "none", "", "33.3", "", "", "", ""],
        ["", "fastText", "", "", "20.0", "", "", ""],
        ["5", "ELMo", "", "", "20.0", "", "", ""],
        # The deviation is that of a sample.
        ["15", "BERT, small", "0.0 M", "50.0", "52.0 ± 2.8", "50.0", "50.0", "50.5"],
        ["15", "ELMo", "1.3 M", "", "21.0", "", "", ""],
        # The same language model, with the vectors of fastText beside its own.
        ["15", "elmo_fasttext", "1.3 M", "", "", "22.0", "", ""],
    ]


def test_the_summary_has_the_mean_over_the_tasks_of_the_means_over_the_seeds():
    tasks = [
        run_of(task, f"elmo_semfit-{minutes}min", score + minutes, seed=seed)
        for minutes in (5, 15, 30)
        for task, scores in {"snli": [50], "bc5cdr": [40], "ner": [10, 14], "srl": [34]}.items()
        for seed, score in enumerate(scores)
    ]
    tasks += [
        run_of(task, name, 30.0)
        for task in PAIRED_TASKS
        for name in ("none", "fasttext", "fasttext-5min", "flair-5min", "flair-15min")
    ]
    # Without all of the tasks.
    tasks.append(run_of("ner", "elmo-15min", 20.0))
    models = [model_of("elmo_semfit-15min"), model_of("elmo_semfit-5min", speed_up=3.0)]
    assert rows("summary", {**RESULTS, "tasks": tasks, "language_models": models}) == [
        [
            "representation",
            "after 5 minutes",
            "after 15 minutes",
            "after 30 minutes",
            "parameters",
            "training speed vs. ELMo",
            "embedding, words/s",
        ],
        ["none", "30.0", "30.0", "30.0", "", "", ""],
        ["fastText", "30.0", "", "", "", "", ""],
        ["flair", "30.0", "30.0", "", "", "", ""],
        ["ELMo-S", "39.0", "49.0", "64.0", "2.5 M", "2.5", "12,345"],
    ]


def test_senteval():
    assert rows("senteval") == [
        ["representation", "average", "MR", "SICK-R"],
        ["fastText", "70.1", "75.0", "71.0"],
    ]


def test_entities_of_languages_by_group():
    assert rows("languages") == [
        ["representation", "Yoruba, all (1,200)", "Wolof, unseen in training (1,200)"],
        ["BERT, small", "50.0", "60.0"],
        ["ELMo-S", "81.0 ± 1.4", "70.0"],
    ]


def test_claims_are_of_several_tasks_after_the_same_minutes():
    assert rows("claims") == [
        ["representation", "compared with", "after 5 minutes", "after 15 minutes"],
        ["ELMo-S", "ELMo-A", "+0.2 (-0.8 to +1.2)", "**-1.5 (-2.5 to -0.5)**"],
        # One seed is not enough.
        ["ELMo-S", "ELMo", "", "+1.5 (+0.5 to +2.5)"],
    ]
