"""Rows of history are neither changed nor deleted."""

from django.db import migrations

from salvor_admin.audit.history import only_grows


class Migration(migrations.Migration):
    dependencies = [("settlement", "0001_first"), ("audit", "0002_history_only_grows")]
    operations = [
        only_grows("settlement_settlement"),
        only_grows("settlement_evidence"),
        only_grows("settlement_note"),
    ]
