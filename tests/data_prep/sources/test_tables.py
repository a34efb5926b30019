import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_prep.sources import open_source
from data_prep.sources.tables import TABLES
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import shown
from tests.data_prep.small import pairs_of, require_refused
from tests.data_prep.sources.forms import FORMS, write
from tests.marks import combined
from tests.refusals.sentences import require_refusal


def _config(folder: Path, source: str = "en", target: str = "de") -> DatasetConfig:
    return DatasetConfig(folder=str(folder), source=source, target=target)


def _folder(folder: Path, name: str, content: bytes) -> DatasetConfig:
    """One bad file as train, beside sound splits."""
    for split in ("dev", "test"):
        write(folder / f"{split}.jsonl", [{"en": "a", "de": "b"}])
    (folder / name).write_bytes(content)
    return _config(folder)


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("layout", [*FORMS, "nested.jsonl", "nested.parquet"])
def test_every_format(tmp_path: Path, read, pairs, layout: str, compressed: bool) -> None:
    ending = Path(f"x{layout}").suffix
    if compressed and ending == ".parquet":
        pytest.skip("parquet is compressed inside")
    for split, rows in pairs.items():
        path = tmp_path / f"{split}{ending}"
        sides = [{"en": en, "de": de} for en, de in rows]
        nested = layout.startswith("nested")
        write(path, [{"id": "7"} | ({"translation": row} if nested else row) for row in sides])
        if compressed:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    assert read(_config(tmp_path)) == pairs
    back = {split: [(target, source) for source, target in rows] for split, rows in pairs.items()}
    assert read(_config(tmp_path, "de", "en")) == back
    place = f"{tmp_path}/dev{ending}{'.gz' if compressed else ''}, column"
    assert open_source(_config(tmp_path)).splits["dev"].sides == (f"{place} en, row", f"{place} de, row")


@pytest.mark.parametrize(("ending", "mark"), [(".tsv", "\t"), (".csv", ",")])
def test_columns_without_names_have_numbers(tmp_path: Path, read, pairs, ending: str, mark: str) -> None:
    for split, rows in pairs.items():
        (tmp_path / f"{split}{ending}").write_text("".join(f"{de}{mark}x{mark}{en}\n" for en, de in rows), "utf-8")
    assert read(_config(tmp_path, "3", "1")) == pairs
    # As the command line gives them.
    plain = json.dumps({"folder": str(tmp_path), "source": 3, "target": 1})
    assert read(DatasetConfig.model_validate_json(plain)) == pairs


LONG = "word " * 100_000


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("train.csv", 'en,de\r\n"a, ""b""\r\nc","d\n"\r\n', [('a, "b"\nc', "d\n")]),
        ("train.csv", 'en,de\n"a\n\n\nb",c\n\n', [("a\n\n\nb", "c")]),
        ("train.csv", f"en,de\n{LONG},b\n", [(LONG, "b")]),
        ("train.jsonl", '{"en": "a", "de": null}\n{"en": "", "de": "b"}\n', [("a", ""), ("", "b")]),
        ("train.tsv", '\ufeffen\tde\r\n"a\tb"\r\n', [('"a', 'b"')]),
        # No cell begins with a byte-order mark.
        ("train.tsv", "\ufeffen\t\ufeffde\na\tb\n\ufeffc\t\ufeffd\n", [("a", "b"), ("c", "d")]),
        ("train.csv", "\ufeffen,\ufeffde\na,b\n\ufeffc,\ufeffd\n", [("a", "b"), ("c", "d")]),
        ("train.jsonl", '\ufeff{"en": "a", "de": "\ufeffb"}\n\ufeff{"en": "", "de": ""}\n', [("a", "b"), ("", "")]),
    ],
)
def test_cells_are_read_as_texts(tmp_path: Path, name: str, content: str, expected: list[tuple[str, str]]) -> None:
    assert pairs_of(_folder(tmp_path, name, content.encode())) == [Example(*pair) for pair in expected]


BLANKS = {
    "tsv": ("train.tsv", "{}en\tde\n{}a\tb\n{}\t\n{}c\td\n{}"),
    "csv": ("train.csv", '{}en,de\n{}"a",b\n{},\n{}c,d\n{}'),
    "jsonl": ("train.jsonl", '{}{{"en": "a", "de": "b"}}\n{}{{"en": "", "de": ""}}\n{}{{"en": "c", "de": "d"}}\n{}'),
}


@combined(kind=BLANKS, blank=["\n", "\r\n\n", "  \n"])
def test_blank_lines_are_no_rows(tmp_path: Path, kind: str, blank: str) -> None:
    name, text = BLANKS[kind]
    source = open_source(_folder(tmp_path, name, text.format(*[blank] * 5).encode()))
    assert [*source.splits["train"].read()] == [Example("a", "b"), Example("", ""), Example("c", "d")]
    assert len(list(source.splits["train"].read())) == 3


def test_a_field_that_swallows_the_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data_prep.sources.tables._LONGEST_FIELD", 1 << 12)
    config = _folder(tmp_path, "train.csv", b'en,de\na,"b\n' + b"c,d\n" * (1 << 10))
    require_refused(config, r"is not CSV \(field larger than field limit \(4096\)\): mend")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("train.tsv", b"en\tde\na\tb\nc\n", r"train\.tsv, line 3 is cut into 1 and line 1 into 2 fields"),
        ("train.tsv", b"\nen\tfr\na\tb\n", r"train\.tsv, line 2 has no column de: .*en, fr; set dataset"),
        ("train.tsv", b"en\tde\n", r"train\.tsv has no rows: expected one for each pair"),
        ("train.tsv", b"", r"train\.tsv has no rows: expected one for each pair"),
        ("train.tsv", b"en\tde\tde\na\tb\tc\n", r"train\.tsv, line 1 has 2 columns de: give each a name of its own$"),
        ("train.csv", b'en,de\n"a\nb",c\nd\n', r"train\.csv, line 4 is cut into 1 and line 1 into 2 fields"),
        ("train.csv", b'en,de\na,"b" c\n', r"train\.csv, line 2 is not CSV \(.*\): mend its quotation marks"),
        ("train.csv", b'en,de\na,"b\nc,d\n', r"train\.csv, line 3 is not CSV \(unexpected end of data\): mend"),
        ("train.jsonl", b'{"en": "a", "de": "b"}\n{"en": \n', r"train\.jsonl, line 2 is not JSON \(.*\): expected an"),
        ("train.jsonl", b'\n{"en": "a", "de": "b"}\n \n{"en": "a"}\n', r"line 4 has no column de: .*en; set dataset"),
        ("train.jsonl", b'{"en": "a", "en": "c", "de": "b"}\n', r"is not JSON \(its key en comes twice\)"),
        ("train.jsonl", b"[" * 200_000, r"train\.jsonl, line 1 is not JSON \(.*\): expected an object on each line"),
        ("train.jsonl", b'["a", "b"]\n', r"train\.jsonl, line 1 holds list: expected a JSON object on each line"),
        ("train.jsonl", b'{"translation": {"en": "a", "fr": "b"}}\n', r"line 1 has no column de: .*en, fr; set"),
        ("train.jsonl", b'{"en": "a", "de": 3}\n', r"train\.jsonl, line 1, column de holds int, not text: set dataset"),
        ("train.jsonl", b'{"en": "a", "de": "\\u0000"}\n', r"line 1, column de holds a NUL character: remove it"),
        ("train.jsonl", b'{"en": "\\ud800", "de": "b"}\n', r"line 1, column en holds half of a surrogate pair"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    require_refused(_folder(tmp_path, name, content), sentence)


def test_the_same_bytes_as_another_kind_make_another_corpus(tmp_path: Path) -> None:
    config = _folder(tmp_path, "train.tsv", b"a,b\tc,d\n")
    numbered = config.model_copy(update={"source": "1", "target": "2"})
    first = open_source(numbered).identity()
    (tmp_path / "train.tsv").rename(tmp_path / "train.csv")
    assert open_source(numbered).identity() != first


def test_a_table_that_a_writer_of_csv_has_quoted_is_refused_with_its_line(tmp_path: Path) -> None:
    lines = ["en\tde", 'he said "no"\t"nein" sagte er', '"all of it"\t"', '"he said ""no"""\ter']
    folder = _folder(tmp_path, "train.tsv", "".join(f"{line}\n" for line in lines).encode())
    require_refused(folder, r"train\.tsv, line 4 has a field in quotation marks that doubles those inside")
    # Without names nothing else would tell.
    config = _folder(tmp_path, "train.tsv", b'"a"\t"b"\n"c d"\t"e"\n').model_copy(update={"source": "1", "target": "2"})
    require_refused(config, r"train\.tsv has every field in quotation marks, as CSV does\. In TSV they would")


def test_a_table_beside_the_texts_that_are_read_is_named(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "train.tsv", b"en\tde\na\tb\n")
    (tmp_path / "train.csv").write_text("en,de\na,b\n")
    expected = "train.tsv are train, and train.csv beside them is not read"
    assert [note.partition(": ")[2] for note in open_source(folder).notes()] == [expected]


def test_names_of_columns_have_no_blanks_around_them(tmp_path: Path) -> None:
    assert pairs_of(_folder(tmp_path, "train.csv", b"en, de\na, b\n")) == [Example("a", " b")]


# Parquet that is damaged, or is no table of pairs.


def _write_parquet(path: Path, count: int) -> None:
    columns = {"id": [7] * count, **{side: [f"{side} words {i}" for i in range(count)] for side in ("en", "de")}}
    pq.write_table(pa.table(columns), path)


def test_bad_parquet_is_refused(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        _write_parquet(tmp_path / f"{split}.parquet", 2000)
    sound = (tmp_path / "train.parquet").read_bytes()
    (tmp_path / "dev.parquet").write_bytes(sound[:-50])
    (tmp_path / "test.parquet").write_bytes(sound[:100] + b"\xff" * 4000 + sound[4100:])
    config = _config(tmp_path)
    for split in ("dev", "test"):
        require_refused(config, rf"{split}\.parquet cannot be read as parquet \(.*\): copy it again", split=split)
    require_refused(
        _config(tmp_path, "en", "fr"), r"train\.parquet has no column fr: .*de, en, id; set dataset\.source"
    )
    pq.write_table(pa.table({"en": [b"no text"], "de": ["a"]}), tmp_path / "test.parquet")
    require_refused(config, r"test\.parquet, row 1, column en holds bytes, not text: .*, and write soun", split="test")
    require_refused(
        _config(tmp_path, "en", "id"), r"train\.parquet, row 1, column id holds int, not text: set dataset\.source"
    )


@pytest.mark.parametrize("nested", [False, True])
def test_a_column_that_is_there_twice_is_refused(tmp_path: Path, nested: bool) -> None:
    texts = [pa.array([text]) for text in ("a", "b", "c", "d")]
    names = ["en", "de", "x", "de"]
    table = pa.table(texts, names)
    if nested:
        table = pa.table({"translation": pa.StructArray.from_arrays(texts, names)})
    for split in ("dev", "test"):
        _write_parquet(tmp_path / f"{split}.parquet", 1)
    pq.write_table(table, tmp_path / "train.parquet")
    require_refused(_config(tmp_path), r"train\.parquet has 2 columns de: give each a name of its own$")
    assert len(pairs_of(_config(tmp_path, "en", "x"))) == 1


@pytest.mark.parametrize(
    ("name", "line"), [("csv", "en;de"), ("csv", "en\tde"), ("tsv", "en,de"), ("tsv", "en|de"), ("tsv", "en de")]
)
def test_another_separator_is_told(name: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.{name}"
    path.write_text(f"\n{line}\n{line}\n")
    separator = {"csv": "commas", "tsv": "tabs"}[name]
    sentence = (
        f"train.{name}, line 2 is one column ({shown(line)}): write columns with {separator} between them in every"
        " line (in .tsv tabs, in .csv commas), and no comments; the first line has their names, or dataset.source and"
    )
    for columns in (("en", "de"), ("1", "2")):
        require_refusal(lambda columns=columns: [*TABLES[f".{name}"](path, columns).read()], re.escape(sentence))
