"""The pages show Python that runs as it stands, block after block."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md", "README.md"])
def test_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    file = ROOT / page
    if not file.is_file():
        pytest.skip("the pages are not beside the tests")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        for package in ("sklearn", "pyomo"):
            if package in block:
                pytest.importorskip(package)
        exec(compile(block, f"{page}: {block.splitlines()[0]}", "exec"), names)
        assert "result" not in names or names["result"].success, block
    assert "result" in names
    if page == "docs/python.md":
        assert names["results"].solver.termination_condition == "optimal"
        assert names["fair"].score(names["X"], names["y"]) > 0.6
