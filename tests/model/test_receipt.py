"""The receipt counts everything once and survives writing and reading."""

from __future__ import annotations

import json

from evimem.model.codec import from_json, to_json
from evimem.model.receipt import ImportFailure, ImportReceipt


def test_a_receipt_round_trips_through_json() -> None:
    receipt = ImportReceipt(
        formats=("chatgpt", "csv"),
        sessions=2,
        stored=3,
        unchanged=4,
        updated=1,
        skipped={"deleted": 2},
        failed=(ImportFailure(where="a.json, item 2", message="broken"),),
        warnings=("w",),
        seconds=0.5,
    )
    assert from_json(ImportReceipt, json.loads(json.dumps(to_json(receipt)))) == receipt
    assert receipt.turns == 8
    assert not receipt.complete
    assert ImportReceipt().complete
