"""Fields: what the sources and targets of a corpus are. A new kind of source is a file beside `text.py`."""

from mt.data.fields.base import Field
from mt.data.fields.text import TEXT, TextField

__all__ = ["TEXT", "Field", "TextField"]
