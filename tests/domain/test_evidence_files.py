"""What is taken as evidence: by size, by ending, and by how it begins."""

from __future__ import annotations

import pytest

from salvor_admin.domain import evidence_files
from salvor_admin.domain.refusals import Refusal


@pytest.mark.parametrize(
    ("name", "start", "kind"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\nrest", "image/png"),
        ("a.JPEG", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a.pdf", b"%PDF-1.7", "application/pdf"),
        ("a.txt", "Größe".encode(), "text/plain; charset=utf-8"),
        ("a.txt", "Größe".encode()[:4], "text/plain; charset=utf-8"),
        ("a.b.csv", b"x,y", "text/csv; charset=utf-8"),
    ],
)
def test_a_file_is_what_its_ending_and_its_beginning_say(name: str, start: bytes, kind: str) -> None:
    assert evidence_files.content_type(name, size=len(start), start=start) == kind


@pytest.mark.parametrize(
    ("name", "size", "start", "code"),
    [
        ("a.html", 1, b"<", "unsupported_media_type"),
        ("a.svg", 1, b"<", "unsupported_media_type"),
        ("png", 1, b"\x89PNG\r\n\x1a\n", "unsupported_media_type"),
        ("a.png", 1, b"GIF89a", "unsupported_media_type"),
        ("a.txt", 1, b"\xff\xfeabcdefgh", "unsupported_media_type"),
        ("a.txt", 0, b"", "bad_request"),
        ("a.txt", evidence_files.LARGEST_FILE + 1, b"x", "payload_too_large"),
    ],
)
def test_what_is_something_else_or_too_large_is_refused(name: str, size: int, start: bytes, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        evidence_files.content_type(name, size=size, start=start)
    assert (caught.value.code, caught.value.place) == (code, "file")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\a.png", "a.png"),
        ("a\u202egpj.png", "agpj.png"),
        ("a\r\nb.txt", "ab.txt"),
        ("", "file"),
        ("...", "file"),
        ("x" * 300 + ".png", "x" * 196 + ".png"),
    ],
)
def test_a_file_name_is_for_showing_and_never_a_path(given: str, kept: str) -> None:
    assert evidence_files.read_file_name(given) == kept


@pytest.mark.parametrize("link", ["https://a.example/x?y=1#z", "http://a.example", "https://[::1]/x"])
def test_a_link_to_the_web_is_kept_as_it_is(link: str) -> None:
    assert evidence_files.read_link(f" {link} ") == link


@pytest.mark.parametrize(
    "link",
    [
        "",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "//a.example",
        "https://",
        "https://a b",
        "https://[x",
        "https://a\u200b.example",
        "x" * 2001,
    ],
)
def test_anything_else_is_no_link(link: str) -> None:
    with pytest.raises(Refusal) as caught:
        evidence_files.read_link(link)
    assert caught.value.code == "bad_request"
