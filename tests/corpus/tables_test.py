import gzip
import io
import json
import sys
from pathlib import Path

import datasets
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sources import find_sources, read_documents
from allennlp_semfit.corpus.tables import read_csv, read_texts

ROWS = [
    {"id": 1, "text": "The river rose.\n\nNobody slept, “ever”.", "tags": ["a"]},
    {"id": 2, "text": "ọ̀rẹ́ NA", "tags": []},
    {"id": 3, "text": "007", "tags": ["b"]},
]
TEXTS = ["The river rose.\nNobody slept, “ever”.", "ọ̀rẹ́ NA", "007"]
NAME = "hf://datasets/someone/rivers"


def read(*names, **options):
    counts = []
    sources = find_sources(names, CorpusOptions(**options))
    documents = list(read_documents(sources, counts.append))
    assert sum(counts) == sum(source.size for source in sources)
    return [document.text for document in documents]


def json_lines(rows=ROWS):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def csv(separator):
    rows = ('"{id}"{sep}"{text}"\n'.format(sep=separator, **row) for row in ROWS)
    return f"id{separator}text\n" + "".join(rows)


CONTENTS = [
    json_lines(),
    "\ufeff" + json_lines(),
    # With blank lines
    json_lines().replace("\n", "\r\n \r\n\r\n"),
    json.dumps(ROWS, indent=2),
    # The lines of a dump for search engines
    json_lines([{"index": {"_id": "1"}}, *ROWS, {"index": {"_id": "2"}}]),
    csv(","),
    # As spreadsheets save it, with the text in the first column
    "\ufeff"
    + "".join(f'"{row["text"]}",{row["id"]}\n' for row in [{"text": "text", "id": "id"}, *ROWS]),
    csv(";"),
    csv("\t"),
]


@pytest.mark.parametrize(
    ("content", "name", "pack"),
    [
        *((content, "a[1].txt", bytes) for content in CONTENTS),
        (CONTENTS[0], "rows", gzip.compress),
        (CONTENTS[0], "rows.txt.gz", gzip.compress),
        (CONTENTS[-1], "rows [1] #%41.csv.gz", gzip.compress),
        (CONTENTS[-1], "rows.csv.gz", bytes),
    ],
)
def test_a_dataset_is_detected_from_its_content(tmp_path, content, name, pack):
    (tmp_path / name).write_bytes(pack(content.encode()))
    assert read(tmp_path / name, field="text") == TEXTS


def test_other_fields_of_json_lines_may_have_any_type(tmp_path):
    others = [1, 4.5, None, "x", {"id": 1}, [1]]
    rows = [{"text": f"text {number}", "other": other} for number, other in enumerate(others)]
    (tmp_path / "rows").write_text("".join(json_lines([row]) * 50 for row in rows))
    texts = read(tmp_path / "rows", field="text", lines="paragraphs")
    assert texts == [row["text"] for row in rows for _ in range(50)]


def test_half_of_a_character_is_replaced(tmp_path):
    (tmp_path / "rows").write_text('{"text": "cut \\ud83d"}\n')
    assert read(tmp_path / "rows", field="text") == ["cut ?"]


def test_other_columns_are_not_decoded(tmp_path):
    columns = {"text": datasets.Value("string"), "picture": datasets.Image()}
    rows = [{"text": text, "picture": {"bytes": b"no picture", "path": None}} for text in TEXTS]
    dataset = datasets.Dataset.from_list(rows, features=datasets.Features(columns))
    dataset.to_parquet(tmp_path / "rows")
    assert read(tmp_path / "rows", field="text") == TEXTS


def test_bytes_are_text(tmp_path):
    columns = datasets.Features({"text": datasets.Value("binary")})
    rows = [{"text": text} for text in (*map(str.encode, TEXTS), b"caf\xe9")]
    datasets.Dataset.from_list(rows, features=columns).to_parquet(tmp_path / "rows")
    assert read(tmp_path / "rows", field="text") == [*TEXTS, "caf\N{REPLACEMENT CHARACTER}"]


def test_quotes_of_a_tsv_file_are_text(tmp_path):
    texts = ['"Hello, he said.', "Fine.", 'She said "no".', '"One" or "two"?']
    (tmp_path / "rows.tsv").write_text("text\tid\n" + "".join(f"{text}\t1\n" for text in texts))
    assert read(tmp_path / "rows.tsv", field="text") == texts


def test_parquet(tmp_path):
    datasets.Dataset.from_list(ROWS).to_parquet(tmp_path / "rows")
    assert read(tmp_path / "rows", field="text") == TEXTS
    # Also without a field, it is not taken for text.
    with pytest.raises(ConfigurationError, match="rows: name the field .*'id', 'text', 'tags'\\."):
        read(tmp_path / "rows")


class TestHub:
    @pytest.fixture(autouse=True)
    def local_hub(self, tmp_path, monkeypatch):
        """`datasets` takes a directory for the dataset of the Hub that has its name."""
        repository = tmp_path / "someone/rivers"
        for subset, rows in (("20231101.yo", ROWS), ("20231101.wo", ROWS[1:])):
            path = repository / subset / "train-00000-of-00001.parquet"
            datasets.Dataset.from_list(rows).to_parquet(path)
        (repository / "README.md").write_text(
            "---\nconfigs:\n"
            "- config_name: 20231101.yo\n  data_files: 20231101.yo/*.parquet\n"
            "- config_name: 20231101.wo\n  data_files: 20231101.wo/*.parquet\n"
            "dataset_info:\n- config_name: 20231101.wo\n"
            "- config_name: 20231101.yo\n  splits:\n"
            "  - name: train\n    num_bytes: 60\n    num_examples: 3\n---\n"
        )
        monkeypatch.chdir(tmp_path)

    def test_a_subset_is_read(self):
        assert read(NAME, field="text", subset="20231101.yo") == TEXTS
        assert read(f"{NAME}/", field="text", subset="20231101.wo") == TEXTS[1:]

    def test_its_size_is_that_of_its_card(self):
        options = CorpusOptions(field="text", subset="20231101.yo")
        assert [source.size for source in find_sources([NAME], options)] == [60]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "Please pick one among .*'20231101.yo', '20231101.wo'"),
            ({"subset": "yo"}, "'yo' not found. Available: .*'20231101.yo'"),
            ({"subset": "20231101.yo", "split": "test"}, "test.*train"),
        ],
    )
    def test_an_error_names_what_there_is(self, options, message):
        with pytest.raises(ConfigurationError, match=f"^{NAME}: .*{message}"):
            read(NAME, **{"field": "text", **options})


class TestErrors:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (json_lines(), "no 'body', but the fields 'id', 'text', 'tags'"),
            (csv(","), "no 'body', but the fields 'id', 'text'.*leave --field out"),
            (json_lines([{"body": ""}]) + '{"body": "cut', "line 2: it must be JSON lines or an"),
            (json.dumps([{"body": ""}])[:-3], "it must be JSON lines or an array of objects, but"),
            ('{"body": ""}\n["a"]\n', "line 2: .* a value that is not an object"),
            ("id,body\n1,a\n2,b,c\n", "line 3: it has more fields than the 2 of the first line"),
            ("body\nOne, two.\n", "line 2: .* than the 1 of the first line; quote fields that"),
            ('id,body\n1,a\n2,"b\n3,c\n', "after line 2: a quotation mark is missing, or"),
            (json_lines([{"body": ["a", "b"]}]), "field body: it must have text, but has .*'a'"),
            ("[Verse 1]\nOne.\n", "no 'body'.*For text without fields, leave"),
        ],
    )
    def test_an_error_says_what_is_wrong(self, tmp_path, content, message):
        (tmp_path / "rows").write_text(content)
        with pytest.raises(ConfigurationError, match=f"rows: .*{message}"):
            read(tmp_path / "rows", field="body")

    def test_the_package_is_an_extra(self, tmp_path, monkeypatch):
        datasets.Dataset.from_list(ROWS).to_parquet(tmp_path / "rows")
        monkeypatch.setitem(sys.modules, "datasets", None)
        with pytest.raises(ConfigurationError, match="rows: .*pip install datasets"):
            read(tmp_path / "rows", field="text")


def test_the_text_of_a_row_is_checked_and_joined_like_that_of_a_file(tmp_path, caplog):
    wrapped = "He counted the waves, and\nwrote their number\nin a book.\n\nShe did\nnot count."
    (tmp_path / "rows").write_text(json_lines([{"text": wrapped}] * 9))
    paragraphs = "He counted the waves, and wrote their number in a book.\nShe did not count."
    assert read(tmp_path / "rows", field="text") == [paragraphs] * 9
    assert "rows: its lines look hard-wrapped" in caplog.text
    (tmp_path / "rows").write_text(json_lines([{"text": "<p>One.</p>"}] * 9))
    with pytest.raises(ConfigurationError, match="rows: it looks like markup"):
        read(tmp_path / "rows", field="text")


@pytest.mark.parametrize("padding", [13, 38])
def test_a_head_that_ends_within_a_line_end(padding):
    rows = "".join(f'{i}\t"He said ""yes""."\r\n' for i in range(4000))
    data = f"id{'x' * padding}\ttext\r\n{rows}".encode()
    assert next(read_csv(Path("a"), io.BytesIO(data), data[: 1 << 16]))["text"] == 'He said "yes".'


def test_cr_lines_do_not_hide_the_separator():
    data = b"id\ttext\r1\ta, b, c.\r2\td, e, f.\r"
    assert [row["text"] for row in read_csv(Path("a"), io.BytesIO(data), data)] == [
        "a, b, c.",
        "d, e, f.",
    ]


@pytest.mark.parametrize("error", [MemoryError, SigTermReceived])
def test_lack_of_memory_and_sigterm_keep_their_types(error):
    def rows():
        yield {"text": "a"}
        raise error

    with pytest.raises(error):
        list(read_texts(rows(), "a", "text"))
