"""Files of client tools into one change request: by the command and by the page, all of them or none."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from salvor_admin.domain import review
from salvor_admin.people.access import Actor
from salvor_admin.reviews import services
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Revision
from tests.catalogue.pages import path, signed_in
from tests.reviews.factories import REFUND_CARD, a_submitted_change
from tests.reviews.test_services import standing

pytestmark = pytest.mark.django_db

PAYOUT = REFUND_CARD.replace(b"refund_card", b"wire_payout")
BROKEN = REFUND_CARD.replace(b"require_equal", b"require_eqal")


def files(folder: Path, **contents: bytes) -> list[str]:
    paths = []
    for name, content in contents.items():
        (folder / f"{name}.toml").write_bytes(content)
        paths.append(str(folder / f"{name}.toml"))
    return paths


def command(actor: Actor, paths: list[str], *options: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    out, err = StringIO(), StringIO()
    try:
        call_command(
            "import_client_tool",
            *paths,
            "--as",
            actor.person_name,
            "--workspace",
            actor.workspace_key,
            *options,
            stdout=out,
            stderr=err,
        )
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    except CommandError as error:
        return 1, out.getvalue(), str(error)
    return 0, out.getvalue(), err.getvalue()


def test_all_files_become_one_change_request_whose_id_is_alone_on_the_last_line(ada: Actor, tmp_path: Path) -> None:
    status, out, _ = command(ada, files(tmp_path, a=REFUND_CARD, b=PAYOUT))
    request = ChangeRequest.objects.get()
    assert (status, out.splitlines()[-1], request.state) == (0, str(request.pk), "draft")
    assert ChangeItem.objects.filter(request=request).count() == 2
    assert "refund_card is revision 1, sha256:" in out


def test_submit_puts_it_before_the_reviewers_with_a_reason(ada: Actor, tmp_path: Path) -> None:
    command(ada, files(tmp_path, a=REFUND_CARD), "--submit")
    request = ChangeRequest.objects.get()
    assert request.state == "in_review" and "Imported from" in request.reason


def test_the_bytes_are_kept_as_they_came(ada: Actor, tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbf# caf\xc3\xa9\r\n" + REFUND_CARD.replace(b"\n", b"\r\n")
    command(ada, files(tmp_path, a=raw))
    revision = Revision.objects.get()
    assert (bytes(revision.source_bytes or b""), revision.source) == (raw, "file")
    assert revision.source_name.endswith("a.toml")


def test_one_refused_file_imports_nothing_and_every_file_is_told_of(ada: Actor, tmp_path: Path) -> None:
    before = standing()
    status, _, err = command(ada, files(tmp_path, a=REFUND_CARD, b=BROKEN, c=b"name = "))
    assert (status, standing()) == (1, before)
    assert "b.toml: Line 4: `require_eqal`" in err and "[unknown_key]" in err
    assert "c.toml:" in err and "[not_toml]" in err
    assert "Nothing was imported." in err


def test_machines_get_one_json_document_also_when_it_failed(ada: Actor, tmp_path: Path) -> None:
    paths = files(tmp_path, a=REFUND_CARD, b=BROKEN)
    status, out, _ = command(ada, paths, "--format", "json")
    told = json.loads(out)
    assert (status, told["change_request"]) == (1, None)
    assert [(each["file"], each["tool"], (each["refusal"] or {}).get("place")) for each in told["files"]] == [
        (paths[0], "refund_card", None),
        (paths[1], None, "/require_eqal"),
    ]
    status, out, _ = command(ada, paths[:1], "--format", "json")
    assert (status, json.loads(out)["state"]) == (0, "draft")


def test_of_one_tool_in_two_files_the_later_counts_with_a_note(ada: Actor, tmp_path: Path) -> None:
    later = REFUND_CARD.replace(b"minimum = 1", b"minimum = 2")
    _, out, _ = command(ada, files(tmp_path, a=REFUND_CARD, b=PAYOUT, c=later))
    assert "a.toml: " in out and "c.toml declares it too, and is the later one." in out
    assert Revision.objects.count() == 2
    assert '"minimum":2' in Revision.objects.get(document__key="refund_card").body


def test_a_tool_that_another_change_holds_keeps_the_import_out(ada: Actor, tmp_path: Path) -> None:
    held = a_submitted_change(author=ada)
    before = standing()
    status, _, err = command(ada, files(tmp_path, a=REFUND_CARD, b=PAYOUT))
    assert (status, standing()) == (1, before)
    assert f"CR-{held.number} already changes refund_card" in err


def test_a_file_put_right_goes_into_the_change_that_holds_its_tool(ada: Actor, grace: Actor, tmp_path: Path) -> None:
    command(ada, files(tmp_path, a=REFUND_CARD, b=PAYOUT), "--submit")
    request = ChangeRequest.objects.get()
    services.give_verdict(
        request_id=request.pk,
        actor=grace,
        verdict=review.Verdict.REQUEST_CHANGES,
        digest=request.digest,
        reason="A refund is at least 2.",
    )
    right = REFUND_CARD.replace(b"minimum = 1", b"minimum = 2")
    status, out, _ = command(ada, files(tmp_path, a=right), "--submit")
    request.refresh_from_db()
    assert (status, out.splitlines()[-1], request.state) == (0, str(request.pk), "in_review")
    assert request.items.count() == 2


def test_a_file_that_is_not_there_is_one_clear_line(ada: Actor, tmp_path: Path) -> None:
    status, _, err = command(ada, [str(tmp_path / "none.toml")])
    assert status == 1 and "none.toml" in err and "Traceback" not in err


# --- the page --------------------------------------------------------------------------------------------------------


def upload(actor: Actor, reason: str = "", **contents: bytes) -> Any:
    return signed_in(actor).post(
        path(actor, "catalogue:import"),
        {
            "uploads": [SimpleUploadedFile(f"{name}.toml", content) for name, content in contents.items()],
            "reason": reason,
        },
    )


def test_files_uploaded_with_a_reason_are_submitted_as_one_change(ada: Actor) -> None:
    answer = upload(ada, "Refunds and payouts.", a=REFUND_CARD, b=PAYOUT)
    request = ChangeRequest.objects.get()
    assert answer["Location"] == path(ada, "reviews:change_request", request_id=request.pk)
    assert (request.state, request.items.count()) == ("in_review", 2)


def test_the_page_tells_each_files_result_and_stores_nothing(ada: Actor) -> None:
    before = standing()
    answer = upload(ada, a=REFUND_CARD, b=BROKEN)
    html = answer.content.decode()
    assert (answer.status_code, standing()) == (422, before)
    assert [(result.file, result.tool, bool(result.refusal)) for result in answer.context["results"]] == [
        ("a.toml", "refund_card", False),
        ("b.toml", None, True),
    ]
    assert "Line 4" in html and "unknown_key" in html


def test_no_file_is_refused_at_its_field(ada: Actor) -> None:
    answer = upload(ada)
    assert answer.status_code == 422 and answer.context["form"].errors["uploads"]


def test_a_file_that_is_too_large_is_told_by_its_name(ada: Actor) -> None:
    answer = upload(ada, big=b"# " + b"x" * (512 * 1024) + b"\n" + REFUND_CARD)
    assert answer.status_code == 422 and "big.toml has" in answer.content.decode()
