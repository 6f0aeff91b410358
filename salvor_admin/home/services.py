"""What a first start writes."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from salvor_admin.people import services as people
from salvor_admin.people.models import Person, Workspace
from salvor_admin.people.services import NewPerson, Shell

FIRST_WORKSPACE = "default"
FIRST_ADMIN = "admin"


@transaction.atomic
def create_first_admin(*, tell: Callable[[NewPerson], None]) -> None:
    """The first workspace and its admin, where there is nobody yet; told before it is kept, so the password is never lost."""
    if Person.objects.exists():
        return
    workspace = Workspace.objects.filter(key=FIRST_WORKSPACE).first() or people.create_workspace(key=FIRST_WORKSPACE)
    tell(people.create_person(username=FIRST_ADMIN, roles=["admin"], actor=Shell(workspace)))
