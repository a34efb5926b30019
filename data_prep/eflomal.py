"""Word links of the training pairs by eflomal (Östling & Tiedemann 2016, "Efficient word alignment with Markov chain
Monte Carlo"), in both directions and symmetrised. It is a program of its own, which the extra `eflomal` installs."""

import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from data_prep.ingest import RawShard, write_text
from mt.common.links import links_of, symmetrised, to_pharaoh
from mt.data.corpus import COLUMNS
from mt.data.dataset import EFLOMAL
from mt.data.tokenizer import units
from mt.errors import UserError
from mt.text_io import file_lines

PROGRAM = "eflomal-align"


def add_links(shards: Sequence[RawShard]) -> None:
    """Rewrites raw shards with links between the words of each pair, as `units(text, "word")` cuts them.

    Raises UserError where the program is not installed, or fails.
    """
    if not shards:
        return
    with tempfile.TemporaryDirectory(dir=shards[0].path.parent) as name:
        folder = Path(name)
        texts = [folder / "source", folder / "target"]
        # The words of all pairs, a line for each pair and side.
        for path, side in zip(texts, ("source", "target"), strict=True):
            with path.open("w", encoding="utf-8") as file:
                for shard in shards:
                    file.writelines(f"{' '.join(units(text, 'word'))}\n" for text in shard.read()[side].to_pylist())
        # Each shard is written again with its share of the links.
        links = _links(texts, folder)
        for shard in shards:
            table = shard.read()
            column = pa.array(itertools.islice(links, len(table)), pa.string())
            place = COLUMNS.get_field_index("links")
            linked = folder / shard.path.name
            write_text(linked, table.set_column(place, COLUMNS.field(place), column))
            linked.replace(shard.path)


def _links(texts: Sequence[Path], folder: Path) -> Iterator[str]:
    """Yields the symmetrised links of each line of two texts."""
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    if program is None:
        raise UserError(
            f"training.guided_alignment={EFLOMAL} makes links with the program {PROGRAM}, which is not there: run pip "
            "install eflomal, or give a FILE of links"
        )
    # The program writes the links of both directions to files.
    both = [folder / "forward", folder / "reverse"]
    flags = zip(("-s", "-t", "-f", "-r"), (*texts, *both), strict=True)
    command = [program, *(str(argument) for flag in flags for argument in flag)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if ended.returncode or not all(path.is_file() for path in both):
        last = ended.stdout.strip().rpartition("\n")[2]
        raise UserError(f"{PROGRAM} failed ({last or ended.returncode}): mend that, or give a FILE of links")
    # One alignment is made of the two.
    for forward, reverse in zip(*map(file_lines, both), strict=True):
        links = symmetrised(links_of(forward).possible, links_of(reverse).possible, "grow-diag-final-and")
        yield to_pharaoh(links)
