"""Fields: the kinds of sources and targets of a corpus. A new kind is a file beside these, and a line in `FIELDS`."""

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field as Option

from mt.data.fields.audio import AudioConfig, AudioField
from mt.data.fields.base import Arriving, Field, Raw, ReadSource, Row, SourceError, as_list, require_texts
from mt.data.fields.features import FeaturesConfig, FeaturesField
from mt.data.fields.image import ImageConfig, ImageField
from mt.data.fields.text import TEXT, TextConfig, TextField

FIELDS: dict[str, type[Field]] = {
    "text": TextField,
    "audio": AudioField,
    "image": ImageField,
    "features": FeaturesField,
}

if TYPE_CHECKING:
    # A type checker cannot follow a union that is made from the table; pydantic checks it.
    FieldConfig = Any
else:
    _configs = tuple(field.Config for field in FIELDS.values())
    FieldConfig = Annotated[Union[_configs], Option(discriminator="name")]  # noqa: UP007 - a tuple has no `|`


def build_field(config: FieldConfig) -> Field:
    """Returns the field with these options."""
    kind: Any = FIELDS[config.name]
    return kind(config)
