"""Calls of a stretch of time are found without an index entry a call."""

import django.contrib.postgres.indexes
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_history_only_grows")]
    operations = [
        migrations.AddIndex(
            model_name="intent",
            index=django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True, fields=["recorded_at"], name="intents_by_time", pages_per_range=32
            ),
        ),
    ]
