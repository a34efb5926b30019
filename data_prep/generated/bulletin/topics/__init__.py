"""The topics, one module each: `STORIES` in the notation of `grammar`, and the `CATEGORIES` that they alone name."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from data_prep.generated.bulletin.topics import (
    accidents,
    animals,
    arts,
    companies,
    courts,
    crime,
    diplomacy,
    fires,
    health,
    politics,
    science,
    sport,
    strikes,
    transport,
    weather,
)

TOPICS: Mapping[str, ModuleType] = MappingProxyType(
    {
        module.__name__.rsplit(".", 1)[1]: module
        for module in (
            *(accidents, animals, arts, companies, courts, crime, diplomacy, fires),
            *(health, politics, science, sport, strikes, transport, weather),
        )
    }
)
