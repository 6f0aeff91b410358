"""Rows of history are neither changed nor deleted."""

from django.db import migrations

from salvor_admin.audit.history import FUNCTION, only_grows


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_first")]
    operations = [
        FUNCTION,
        only_grows("audit_entry"),
    ]
