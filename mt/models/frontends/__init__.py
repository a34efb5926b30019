"""The closed table of front-ends, from a field's sources to vectors. A new one is a file here and a line below."""

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

from mt.models.frontends.base import Frontend
from mt.models.frontends.embedding import WordVectors
from mt.models.frontends.features import FeatureGrid
from mt.models.frontends.image import ImageGrid
from mt.models.frontends.logmel import LogMel

FRONTENDS: dict[str, type[Frontend]] = {
    "embedding": WordVectors,
    "logmel": LogMel,
    "image": ImageGrid,
    "features": FeatureGrid,
}

if TYPE_CHECKING:
    # A union that is made from the table is beyond a type checker; pydantic checks it.
    FrontendConfig = Any
else:
    _configs = tuple(frontend.Config for frontend in FRONTENDS.values())
    FrontendConfig = Annotated[Union[_configs], Field(discriminator="name")]  # noqa: UP007 - a tuple has no `|`
