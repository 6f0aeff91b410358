"""What `make check` makes of pip-audit's report."""

from __future__ import annotations

from tests.package_audit import verdict


def a_package(name: str, *holes: str, **more: str) -> dict:
    return {"name": name, "version": "1", "vulns": [{"id": hole, "fix_versions": ["2"]} for hole in holes]} | more


def test_a_hole_fails_and_names_the_package_and_the_mended_version():
    code, words = verdict({"dependencies": [a_package("sound"), a_package("leaky", "CVE-1")]}, "")
    assert code == 1
    assert "leaky 1: CVE-1, mended in 2" in words
    assert "sound" not in words


def test_a_hole_beside_unknown_packages_still_fails():
    code, _ = verdict({"dependencies": [{"name": "x", "skip_reason": "unknown"}, a_package("leaky", "CVE-1")]}, "")
    assert code == 1


def test_a_service_that_cannot_be_reached_is_one_line_and_no_failure():
    code, words = verdict(None, "connection refused")
    assert (code, words.count("\n")) == (0, 0)
    assert "connection refused" in words


def test_a_service_that_knows_none_of_the_packages_is_not_taken_for_a_clean_bill():
    code, words = verdict({"dependencies": [{"name": "x", "skip_reason": "unknown"}]}, "")
    assert code == 0
    assert words.startswith("Packages not audited")


def test_sound_packages_are_counted():
    assert verdict({"dependencies": [a_package("a"), a_package("b")]}, "") == (0, "No known holes in 2 packages.")
