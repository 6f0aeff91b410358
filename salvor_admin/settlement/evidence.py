"""What stands beside a case: notes, evidence, kept texts, and who is looking. None of it decides."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from salvor_admin.domain import canonical, evidence_files
from salvor_admin.domain.rights import Role
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.settlement import access, claims
from salvor_admin.settlement.models import Evidence, KeptText, Note, Presence
from salvor_admin.web.clock import database_now

LONGEST_NOTE: Final = 10_000
MOST_KEPT: Final = 64 * 1024
PRESENT_FOR: Final = timedelta(seconds=45)


@transaction.atomic
def add_note(*, intent_id: UUID, actor: Actor, text: str) -> Note:
    """A colleague's words beside the case."""
    words = evidence_files.read_text(text, what="note", longest=LONGEST_NOTE)
    actor = access.settler(actor, "write a note")
    intent = access.intent(actor, intent_id)
    case = claims.case_for_write(intent)
    now = database_now()
    note = Note.objects.create(case=case, person=actor.person, text=words, written_at=now)
    claims.record("case.noted", case, intent, actor=actor, at=now, text_digest=canonical.digest(words))
    return note


@transaction.atomic
def add_evidence(*, intent_id: UUID, actor: Actor, text: str = "", link: str = "") -> Evidence:
    """A pasted text or a link that shows what happened outside."""
    if link:
        kind, words = "link", evidence_files.read_link(link)
    else:
        kind, words = "text", evidence_files.read_text(text)
    return _add(intent_id, actor, kind=kind, text=words, digest=canonical.digest(words), size=len(words.encode()))


def add_evidence_file(*, intent_id: UUID, actor: Actor, file: UploadedFile[bytes]) -> Evidence:
    """A file that shows what happened outside; its bytes lie outside every web root, under a name of ours."""
    access.intent(actor, intent_id)
    people_access.require(actor, Role.SETTLER, "add evidence")
    name = evidence_files.read_file_name(file.name or "")
    start = file.read(4096)
    kind = evidence_files.content_type(name, size=file.size or 0, start=start)
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    stored_as = default_storage.save(f"{actor.workspace_id}/{uuid.uuid4().hex}", file)
    try:
        return _add(
            intent_id,
            actor,
            kind="file",
            file_name=name,
            stored_as=stored_as,
            content_type=kind,
            size=file.size or 0,
            digest=f"sha256:{digest.hexdigest()}",
        )
    except BaseException:
        default_storage.delete(stored_as)
        raise


@transaction.atomic
def _add(intent_id: UUID, actor: Actor, **columns: object) -> Evidence:
    actor = access.settler(actor, "add evidence")
    intent = access.intent(actor, intent_id)
    case = claims.case_for_write(intent)
    now = database_now()
    row = Evidence.objects.create(case=case, person=actor.person, added_at=now, **columns)
    claims.record(
        "case.evidence_added", case, intent, actor=actor, at=now, kind=row.kind, digest=row.digest, size=row.size
    )
    return row


# --- kept texts and presence: told to nobody, decide nothing ---------------------------------------------------------


@transaction.atomic
def keep_text(*, intent_id: UUID, actor: Actor, fields: Mapping[str, str]) -> bool:
    """Keeps what somebody has typed for them alone; False when there is nothing to keep or it is too much."""
    kept = {name: value.replace("\0", "") for name, value in fields.items() if value.strip()}
    if not kept or sum(len(name) + len(value) for name, value in kept.items()) > MOST_KEPT:
        return False
    intent = access.intent(actor, intent_id)
    people_access.require(actor, Role.SETTLER, "keep a text")
    case = claims.case_for_write(intent)
    KeptText.objects.update_or_create(
        case=case, person=actor.person, defaults={"fields": kept, "kept_at": database_now()}
    )
    return True


@transaction.atomic
def discard_text(*, intent_id: UUID, actor: Actor) -> None:
    """Throws away what was kept for this person."""
    access.intent(actor, intent_id)
    KeptText.objects.filter(case__intent_id=intent_id, person=actor.person).delete()


@transaction.atomic
def note_presence(*, intent_id: UUID, actor: Actor, is_editing: bool) -> Presence:
    """This person has the call open at this moment."""
    intent = access.intent(actor, intent_id)
    presence, _ = Presence.objects.update_or_create(
        intent=intent, person=actor.person, defaults={"is_editing": is_editing, "seen_at": database_now()}
    )
    return presence


@transaction.atomic
def forget_presences() -> int:
    """Deletes what is long past; safe to run twice and at once."""
    count, _ = Presence.objects.filter(seen_at__lt=database_now() - 20 * PRESENT_FOR).delete()
    return count
