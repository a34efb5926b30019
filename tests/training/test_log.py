import json
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from mt.plots import heatmap
from mt.training.log import Log


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def events(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder / "tensorboard"), size_guidance={"images": 0, "tensors": 0}).Reload()


def test_scalars_are_lines_and_points(tmp_path: Path) -> None:
    log = Log(tmp_path, update=0)
    log.scalars("train", 1, {"loss": 2.5, "tokens": 3})
    log.scalars("dev", 1, {"bleu": 0.25})
    assert records(tmp_path) == [
        {"kind": "train", "update": 1, "loss": 2.5, "tokens": 3},
        {"kind": "dev", "update": 1, "bleu": 0.25},
    ]
    log.close()
    found = events(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("train/loss")] == [(1, 2.5)]
    assert [(e.step, e.value) for e in found.Scalars("dev/bleu")] == [(1, 0.25)]


def test_resuming_forgets_what_came_later_and_a_half_written_line(tmp_path: Path) -> None:
    log = Log(tmp_path, update=0)
    for update in range(1, 6):
        log.scalars("train", update, {"loss": float(update)})
    log.close()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "update": 1, "lo')

    log = Log(tmp_path, update=3)
    assert [record["update"] for record in records(tmp_path)] == [1, 2, 3]
    log.scalars("train", 4, {"loss": 40.0})
    log.close()
    assert [record["loss"] for record in records(tmp_path)] == [1, 2, 3, 40]
    assert [(e.step, e.value) for e in events(tmp_path).Scalars("train/loss")] == [(1, 1), (2, 2), (3, 3), (4, 40)]


def test_pictures_texts_and_hyperparameters_can_be_read_back(tmp_path: Path) -> None:
    log = Log(tmp_path, update=0)
    log.figure("dev/alignment_0", 7, heatmap([[0.5, 0.5]], ["größer", "鳥"], ["</s>"]))
    log.text("dev/translations", 7, "| source |\n|---|\n| für 鳥 |")
    options = {"seed": 1, "encoder": {"name": "bilstm", "hidden_size": 16}, "betas": (0.9, 0.98), "device": None}
    log.hyperparameters(options, {"bleu": {"score": 12.5, "signature": "x"}, "loss": 1.5, "split": "test"})
    log.close()
    found = events(tmp_path)
    assert found.Images("dev/alignment_0")[0].step == 7
    assert found.Images("dev/alignment_0")[0].encoded_image_string.startswith(b"\x89PNG")
    text = found.Tensors("dev/translations/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "für 鳥" in text
    assert found.Scalars("test/bleu.score")[0].value == 12.5 and found.Scalars("test/loss")[0].value == 1.5
    session = found.PluginTagToContent("hparams")["_hparams_/session_start_info"]
    chosen = HParamsPluginData.FromString(session).session_start_info.hparams
    assert chosen["encoder.name"].string_value == "bilstm" and chosen["encoder.hidden_size"].number_value == 16
    assert chosen["betas"].string_value == "(0.9, 0.98)" and chosen["device"].string_value == "None"


def test_the_console_is_standard_output(tmp_path: Path, capsys) -> None:
    log = Log(tmp_path, update=0)
    log.say("update 3: bleu 12")
    log.close()
    assert capsys.readouterr().out == "update 3: bleu 12\n"
