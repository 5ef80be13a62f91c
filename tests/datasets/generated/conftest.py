"""Generated data, made once for all tests of this folder."""

from __future__ import annotations

import pytest

from evimem.datasets.generated import Generated, generate_with_report


@pytest.fixture(scope="session")
def tiny() -> Generated:
    return generate_with_report("tiny", 1)


@pytest.fixture(scope="session")
def tiny_chats() -> Generated:
    return generate_with_report("tiny-longmemeval", 1)


@pytest.fixture(scope="session")
def uni_sft() -> Generated:
    return generate_with_report("uni-sft", 1)
