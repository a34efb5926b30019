"""The closed table of front-ends, from a field's sources to vectors. A new one is a file here and a line below."""

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
