"""Rows of history are neither changed nor deleted."""

from django.db import migrations

from salvor_admin.audit.history import only_grows


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_first"), ("audit", "0002_history_only_grows")]
    operations = [
        only_grows("ledger_event"),
        only_grows("ledger_report"),
        only_grows("ledger_decision"),
        only_grows("ledger_leaseend"),
    ]
