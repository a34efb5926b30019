"""The tables of components: their keys are the names that their options have."""

from typing import Any

import pytest

from mt.cli.command import CONF
from mt.data.fields import FIELDS
from mt.models.attention import ATTENTIONS
from mt.models.attention.energy import ENERGIES, build_energy
from mt.models.attention.local import LocalMConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends import FRONTENDS


@pytest.mark.parametrize("table", [ATTENTIONS, ENCODERS, DECODERS, FRONTENDS, FIELDS])
def test_a_table_is_keyed_by_the_names_of_its_configurations(table: dict[str, Any]):
    assert [kind.Config().name for kind in table.values()] == list(table)


def test_energies_are_keyed_by_the_names_of_their_configurations():
    configs = [LocalMConfig.model_validate({"energy": {"name": name}}).energy for name in ENERGIES]
    assert [type(build_energy(config, 4, 4)) for config in configs] == list(ENERGIES.values())
    assert sorted(ENERGIES) == sorted(path.stem for path in (CONF / "attention/energy").glob("*.yaml"))
