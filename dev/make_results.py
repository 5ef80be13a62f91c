"""Writes docs/benchmarks.md and docs/results/ from the reports of one benchmark run.

    make bench DATA=... && python dev/make_results.py out

Figures only: rows per question are left out, and no benchmark text is in the reports to begin with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from evimem.eval.report import plot, read_report
from evimem.eval.suite import QEMEM_DRAWN

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
SHOWN = ("report", "all")
KS = ("10", "20", "40", "80")


def main(folder: Path) -> None:
    """Reads the reports in `folder` and writes the page, the figures and the plots."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    retrieval, qemem, stored, speed = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("retrieval", "qemem", "stored", "speed")
    )
    answers = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("answers-*.json"))
    ]
    parts = [p for p in read_report(folder / "retrieval.json").parts if p.split == "report"]
    plot(parts, RESULTS / "retrieval.png")
    parts = [p for p in read_report(folder / "qemem.json").parts if p.split == "report"]
    plot(parts, RESULTS / "qemem.png", systems=QEMEM_DRAWN, units=("turns",))
    for report in (retrieval, qemem):
        for part in report["parts"]:
            for system in part["systems"]:
                system.pop("questions", None)
    for part in stored["parts"]:
        for space in part["spaces"]:
            space.pop("questions", None)
    for report in answers:
        report.pop("rows", None)
    written = {
        "retrieval": retrieval,
        "qemem": qemem,
        "stored": stored,
        "answers": answers,
        "speed": speed,
    }
    for name, value in written.items():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    page = [
        HEAD,
        _retrieval(retrieval),
        _qemem(qemem),
        _stored(stored),
        _answers(answers),
        _speed(speed),
        *_others(folder),
        TRAINED,
        _manifest(retrieval),
    ]
    (ROOT / "docs" / "benchmarks.md").write_text("\n".join(page), encoding="utf-8")


HEAD = """# Benchmarks

```sh
make bench DATA=path/to/benchmarks    # prints these figures; reports and plot land in out/
```

`path/to/benchmarks` holds `locomo10.json`, `longmemeval/` and `beam_100k/`; the files are yours, none is
part of evimem. No language model takes part anywhere on this page. Constants are chosen on LoCoMo conv-26
and conv-30 and on the `tune` part of LongMemEval only; figures are of the rest. Their totals were looked at
while building (dev/notes-*.md say when and what followed), so they are not fully blind.

- **complete@k**: share of questions with every gold turn among the first k. **recall@k**: mean share of
  gold turns. **AUC**: area under complete@k over 10 to 120 turns, or over 300 to 3,600 tokens (strict
  rule: stop when the next turn would pass the budget). Brackets are 95% intervals, resampled over
  conversations where there are several.
- `bm25`, `dense` and `rrf` rank single turns; `fusion` is the default of `search`; `lite` counts turns in
  the order its rounds first viewed them.
- The LongMemEval files at hand are few and hard (see their notice): no figure here is "LongMemEval-S".
"""


TRAINED = """
## Trained policies

- [The selector of `lite-trained`](training-selector.md#what-was-measured): on the same eight LoCoMo conversations as above,
  multi-hop complete@20 50.2 against 41.8 of one search (+8.4 [3.3, 13.0]) and 46.4 of `lite`; over all questions recall@20 88.3
  against 87.2 (+1.1 [0.2, 2.0]). Trained on generated conversations only.
- [MERA's planner as a model of 135 million parameters](training-planner.md#what-was-measured), before and after training.
- Uni-Mem's methods M0 to M4 at toy size, over seeds: [four facts](results/unimem-toy.md) a conversation,
  [twelve](results/unimem-toy-long.md), and [facts that change](results/unimem-toy-changing.md).

"""


def _percent(interval: dict[str, Any] | None, *, wide: bool = True) -> str:
    if interval is None:
        return "-"
    value = f"{100 * interval['estimate']:.1f}"
    if not wide:
        return value
    return f"{value} [{100 * interval['low']:.1f}, {100 * interval['high']:.1f}]"


def _retrieval(report: dict[str, Any]) -> str:
    lines = ["\n## Retrieval\n", "![Coverage curves](results/retrieval.png)\n"]
    for part in report["parts"]:
        if part["split"] in SHOWN:
            lines += _part(part, firsts=("fusion", "lite"))
    return "\n".join(lines)


def _part(
    part: dict[str, Any], *, firsts: tuple[str, ...], detailed: tuple[str, ...] = ()
) -> list[str]:
    """The table of a part and its comparisons; groups beside "overall" only of `detailed`."""
    left = ", ".join(f"{count} {why}" for why, count in part["left_out"].items())
    lines = [
        f"### {part['dataset']}, {part['split']}: n = {part['n']}, "
        f"{part['conversations']} conversations (left out: {left or 'none'})\n",
        "| ranking | group | n | recall@20 | " + " | ".join(f"complete@{k}" for k in KS)
        + " | AUC turns | AUC tokens | ms |",
        "| --- " * 10 + "|",
    ]  # fmt: skip
    for system in part["systems"]:
        for group in system["groups"]:
            shown = _groups(part) if not detailed or system["system"] in detailed else ("overall",)
            if group["name"] not in shown:
                continue
            timed = f"{system['timing']['median_ms']:.2f}" if group["name"] == "overall" else ""
            lines.append(
                f"| {system['system']} | {group['name']} | {group['n']} | "
                + f"{_percent(group['recall']['20'], wide=False)} | "
                + " | ".join(_percent(group["complete"][k], wide=k == "20") for k in KS)
                + f" | {_percent(group['turns']['auc'])} | {_percent(group['tokens']['auc'])}"
                + f" | {timed} |"
            )
    lines.append("")
    for pair in part["pairs"]:
        if pair["first"] in firsts:
            gap = pair["auc_turns"]["difference"]
            behind = ", ".join(pair["behind_at"]) or "no budget"
            lines.append(
                f"- {pair['first']} over {pair['second']}: AUC {100 * gap['estimate']:+.1f} "
                f"[{100 * gap['low']:+.1f}, {100 * gap['high']:+.1f}]; behind at {behind}."
            )
    return [*lines, ""]


def _qemem(report: dict[str, Any]) -> str:
    lines = [
        "\n## QEMem's retrieval, without a model\n",
        "![Complete evidence by budget of source turns](results/qemem.png)\n",
        "The store is the turns with `lite` episodes and facts, which are cut from the turns by "
        "rule. `qemem` orders source turns by the query set over all three spaces; `matched` is one "
        "dense list of the same store by the question as asked, episodes shown turn by turn. "
        "`qemem-turns`, `-episodes` and `-facts` leave out both other spaces or one, "
        "`qemem-lists` has dense and BM25 lists of equal weight only, `qemem-pool` is the pool of "
        "one round with its budgets. The margin over `matched` is mostly the foundation's ranking "
        "of turns, which `dense` and `fusion` show apart. The three best curves lie within one "
        "point of each other: the plot cannot tell them apart, the differences below can.\n",
    ]
    for part in report["parts"]:
        if part["split"] in SHOWN:
            lines += _part(part, firsts=("qemem",), detailed=QEMEM_DRAWN)
    lines.append(f"- Measured at {report['manifest']['code']}.\n")
    return "\n".join(lines)


def _others(folder: Path) -> list[str]:
    """What was run beside other packages and systems: the newest report at hand, else the kept."""
    made = []
    fresh = folder / "peers.json"
    path = fresh if fresh.exists() else RESULTS / "peers.json"
    if path.exists():
        report = json.loads(path.read_text(encoding="utf-8"))
        for part in report["parts"]:
            for system in part["systems"]:
                system.pop("questions", None)
        text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
        (RESULTS / "peers.json").write_text(text + "\n", encoding="utf-8")
        made.append(_peers(report))
    if (RESULTS / "systems-small-model.md").exists():
        made.append(SYSTEMS)
    return made


SYSTEMS = """
## Memory systems side by side

- [Seven systems with a small model](results/systems-small-model.md): the whole path, every diagnostic, with a model of 135
  million parameters for every role. Its answers are of no use, and neither is it as a judge; the report proves the path and
  says nothing of the systems.
- [What systems find without a model](results/systems-retrieval.md): all ten conversations of LoCoMo; what a system does when
  no reply can be used.

[How to run your own](comparing.md).
"""


def _peers(report: dict[str, Any]) -> str:
    part = report["parts"][0]
    lines = [
        "\n## Beside other packages\n",
        "`evimem bench peers`: the same turns, the same vectors, no language model; LoCoMo, "
        f"{part['split']}: n = {part['n']}, {part['conversations']} conversations. Others run at "
        "their defaults; constants of fusion were chosen on the tuning part of the same benchmark. "
        "Speed is over all ten conversations, vectors made before, on a shared machine: read the "
        "ratios to the first row as rough.\n",
        "| system | complete@10 | complete@20 | complete@40 | complete@80 | AUC turns | turns/s "
        "stored (time, fusion = 1) | median ms (fusion = 1) |",
        "| --- " * 8 + "|",
    ]
    speed = {one["system"]: one for one in report["speed"]}
    for system in part["systems"]:
        group = system["groups"][0]
        cells = [f"{100 * group['complete'][k]['estimate']:.1f}" for k in KS]
        auc = group["turns"]["auc"]
        fast = speed[system["system"]]
        lines.append(
            f"| {system['system']} | {' | '.join(cells)} | {100 * auc['estimate']:.1f} "
            f"[{100 * auc['low']:.1f}, {100 * auc['high']:.1f}] | {fast['turns_per_second']:,.0f} "
            f"({fast['build_ratio']:.2f}) | {fast['median_ms']:.2f} ({fast['median_ratio']:.1f}) |"
        )
    lines.append("")
    lines += [f"- {note}" for note in report["notes"]]
    lines.append(f"- Measured at {report['manifest']['code']}.\n")
    return "\n".join(lines)


def _stored(report: dict[str, Any]) -> str:
    lines = [
        "\n## Not stored, or not retrieved\n",
        "What the spaces of the same store hold of the gold turns, and what the first pool of QEMem "
        "brings (10 episodes, 20 facts, 40 turns; 14, 30, 60 where a list or count is asked for; "
        "turns with their neighbours). A memory stands on the turns that its links lead to: "
        "`direct` on the turn it was made of, `no_semantic` on all turns of an episode and for a "
        "semantic fact on nothing, `episode_ok` on every turn of the fact's episode. The first "
        "three shares concern some gold turn and add up to 100%; questions with nothing stored are "
        "masked in the shares of stored ones, never counted as zeros.\n",
    ]
    for part in report["parts"]:
        if part["split"] not in SHOWN:
            continue
        lines += [
            f"### {part['dataset']}, {part['split']}: n = {part['n']}, "
            f"{part['conversations']} conversations\n",
            "| space | counting rule | items | group | n | not stored | not retrieved | retrieved | "
            "retrieved of stored (n) | all stored | all retrieved of all stored (n) |",
            "| --- " * 11 + "|",
        ]
        for space in part["spaces"]:
            for group in space["groups"]:
                first = f"{space['space']} | {space['rule']} | {space['items']}"
                lines.append(
                    f"| {first} | {group['name']} | {group['n']} | "
                    + " | ".join(
                        _percent(group[key]) for key in ("not_stored", "not_retrieved", "retrieved")
                    )
                    + f" | {_counted(group['found'])} | {_percent(group['storable'])} | "
                    f"{_counted(group['complete'])} |"
                )
        lines.append("")
    lines.append(f"- Measured at {report['manifest']['code']}.\n")
    return "\n".join(lines)


def _counted(interval: dict[str, Any] | None) -> str:
    return "-" if interval is None else f"{_percent(interval)} ({interval['n']})"


def _groups(part: dict[str, Any]) -> tuple[str, ...]:
    return ("overall", "multi-hop") if part["dataset"] == "locomo" else ("overall",)


def _answers(reports: list[dict[str, Any]]) -> str:
    lines = [
        "\n## Answers of `lite`, scored by rule\n",
        "| set | n | when: exact, gold turns viewed | answerable: answered | "
        "unanswerable: not in memory | balanced accuracy | ms |",
        "| --- " * 7 + "|",
    ]
    for report in reports:
        lines.append(
            f"| {report['dataset']}, {report['split']} | {report['n']} | "
            + " | ".join(
                _percent(report[key])
                for key in ("when_found", "answered", "abstained", "balanced_accuracy")
            )
            + f" | {report['median_ms']:.0f} |"
        )
    lines.append(
        "\nA when-question counts if the answer is LoCoMo's own after normalising dates. Unanswerable "
        "are LoCoMo's category 5 and LongMemEval's `_abs`; balanced accuracy is the mean of the two "
        "rates before it. Token F1 by category stands in results/answers.json: it is low for `lite`, "
        "which answers with the stored words. On BEAM, where a question always fits the topic of the "
        "chat, word overlap cannot tell what was never said: `lite` hardly ever abstains there.\n"
    )
    return "\n".join(lines)


def _speed(report: dict[str, Any]) -> str:
    lines = [
        "\n## Speed\n",
        "One thread, synthetic text, 384-d vectors, two shared cores; compare within the run.\n",
        "| store | banks | turns each | imported/s | vectors/s | MiB file | MiB RSS | first search ms |"
        " median ms | p95 ms |",
        "| --- " * 10 + "|",
    ]
    for row in report["rows"]:
        lines.append(
            f"| {row['target']} | {row['banks']} | {row['turns']} | {row['stored_per_second']:.0f} | "
            f"{row['vectors_per_second']:.0f} | {row['file_mb']:.0f} | {row['rss_mb']:.0f} | "
            f"{row['cold_ms']:.1f} | {row['median_ms']:.2f} | {row['p95_ms']:.2f} |"
        )
    lines.append("")
    for name, times in report["times_faster"].items():
        lines.append(f"- {name}: takes {times:.1f} times as long as evimem in the same run.")
    if report["encode_ms"] is not None:
        lines.append(
            f"- Encoding one question with the default embedder: {report['encode_ms']:.1f} ms, on top "
            "of the search and once per distinct question."
        )
    loop = report.get("loop")
    if loop is not None:
        lines.append(
            f"- One round of `mera` without its model (scripted replies, {loop['facts']:,} facts): median "
            f"{loop['round_ms']:.1f} ms, p95 {loop['round_p95_ms']:.1f} ms over {loop['rounds']} rounds; a "
            f"state of {loop['graph_elements']} graph elements in words: {loop['state_ms']:.2f} ms."
        )
    lines.append(f"- Measured at {report['manifest']['code']}.")
    lines.append(
        "- Searches return the hits with their texts; encoding the question is not included."
    )
    lines.append(
        "- By hand on the same machine: `import evimem` 0.02 s; an installation with the default "
        "embedder 209 MB; an import with the default embedder takes 1.00 times as long as the "
        "embedder alone (663 turns)."
    )
    return "\n".join(lines) + "\n"


def _manifest(report: dict[str, Any]) -> str:
    lines = ["\n## What was run\n"]
    lines += [f"- {key}: {value}" for key, value in report["manifest"].items()]
    lines += [f"- note: {note}" for note in report["notes"]]
    lines.append("\nAll intervals, categories, curves and hashes: [results/](results/).\n")
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
