"""A scan that could not ask registries names the option that does."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from chartkit.cli.scan import scan
from tests.data import beside

_TEXTS = beside(__file__)

POLICY = _TEXTS["policy"]
POD = _TEXTS["pod"]


@pytest.mark.parametrize(("images", "is_said"), [("*", True), ("example.com/*", False)])
def test_errors_of_image_verification_name_registry(
    tmp_path: Path, images: str, is_said: bool
) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY % images)
    (tmp_path / "pod.yaml").write_text(POD)
    given = [str(tmp_path / "pod.yaml"), "-p", str(tmp_path / "policy.yaml")]
    done = CliRunner().invoke(scan, given)
    assert ("no registry to ask" in done.stdout) is is_said
    assert ("of image verification: --registry asks the registries" in done.stderr) is is_said
    assert "--registry" not in done.stdout
