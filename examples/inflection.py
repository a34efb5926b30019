"""Inflection as pairs for `dataset=letters`: from the lemma and the tags to the form.

    python examples/inflection.py < german-train-high > DIR/train.tsv        and so dev.tsv and test.tsv
    mt train dataset=letters dataset.folder=DIR dataset.tokenizer.source.model_type=blanks \\
        dataset.tokenizer.source.normalization=nfc dataset.metrics=[accuracy,per] attention=marginal

A line of UniMorph, and of SIGMORPHON's tasks from 2017 to 2022, has the lemma, the form and its tags, with tabs
between. In those of 2016 and 2023 the tags come before the form; which column has them is seen by the whole file.

    quatschen	quatschtet	V;IND;PST;2;PL
    quatschen	V;IND;PST;NOM(2,PL)	quatschtet

The pair has the tags as symbols of their own, which no letter is like, and the letters between blanks. A blank within
a word is written ␣.

    +V +IND +PST +2 +PL q u a t s c h e n	q u a t s c h t e t
"""

import re
import unicodedata

from mt.errors import UserError, reported, shown
from mt.text_io import input_lines

TAGS = re.compile(r"(pos=)?[A-Z]+([.;,(].*)?")
"""Tags, which begin with a part of speech: `N`, `V.PTCP;PST`, or as in 2016 `pos=V,tense=PST`."""


def spelt(word: str) -> str:
    """Returns the letters of a word, in composed characters, with blanks between them."""
    return " ".join(re.sub(r"\s", "␣", unicodedata.normalize("NFC", word)))


def main() -> None:
    rows = []
    for number, line in enumerate(input_lines(None), start=1):
        if not line.strip():  # UniMorph has a blank line between two lemmas
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 3 or not all(columns):
            raise UserError(
                f"line {number} has no lemma, form and tags with tabs between ({shown(line, 60)}): bring the columns "
                "into this order, and leave out others (cut -f1-3)"
            )
        rows.append(columns)
    # A form in capitals may look like tags, so all lines decide.
    first, second, third = (sum(TAGS.fullmatch(row[place]) is not None for row in rows) for place in range(3))
    if first > max(second, third):
        raise UserError("the tags are in the first column: bring the columns into the order lemma, form and tags")
    for lemma, *others in rows:
        form, tags = others if third >= second else others[::-1]
        print(*(f"+{tag}" for tag in re.findall(r"[^;,()\s]+", tags)), f"{spelt(lemma)}\t{spelt(form)}")


if __name__ == "__main__":
    with reported(1):
        main()
