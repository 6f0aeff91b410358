import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("people", "0001_first"),
        ("reviews", "0003_examinations"),
        ("runtimes", "0001_first"),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run_id", models.UUIDField()),
                ("opened_at", models.DateTimeField()),
                ("next_seq", models.BigIntegerField(default=0)),
                ("state", models.CharField(default="not_started", max_length=24)),
                ("state_seq", models.BigIntegerField(null=True)),
                ("pending_seq", models.BigIntegerField(null=True)),
                ("has_open_sleep", models.BooleanField(default=False)),
                ("is_client_driven", models.BooleanField(default=False)),
                ("input_tokens", models.BigIntegerField(default=0)),
                ("output_tokens", models.BigIntegerField(default=0)),
                ("step_count", models.BigIntegerField(default=0)),
                ("resting_state", models.CharField(max_length=24, null=True)),
                ("agent_def_hash", models.TextField(null=True)),
                ("labels", models.TextField(null=True)),
                ("first_recorded_at", models.DateTimeField(null=True)),
                ("last_recorded_at", models.DateTimeField(null=True)),
                ("lease_hash", models.BinaryField(max_length=32, null=True)),
                ("lease_seen_at", models.DateTimeField(null=True)),
                ("lease_ttl_seconds", models.IntegerField(null=True)),
                ("record_prompts", models.BooleanField(default=False)),
                (
                    "last_driver",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runtimes.runtime",
                    ),
                ),
                (
                    "opened_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runtimes.runtime",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="people.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LeaseEnd",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("how", models.CharField(max_length=12)),
                ("seen_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                (
                    "runtime",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runtimes.runtime"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="lease_ends", to="ledger.run"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Intent",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
                ("tool", models.TextField()),
                ("effect", models.CharField(max_length=12)),
                ("idempotency_key", models.CharField(max_length=71)),
                ("holds_claim", models.BooleanField(default=False)),
                ("publication", models.IntegerField()),
                ("recorded_at", models.DateTimeField()),
                ("waits_at", models.DateTimeField()),
                ("listed_at", models.DateTimeField(null=True)),
                ("standing", models.CharField(default="open", max_length=12)),
                ("closed_at", models.DateTimeField(null=True)),
                ("refusals", models.IntegerField(default=0)),
                ("likeness", models.BinaryField(max_length=32, null=True)),
                ("subject", models.TextField(default="[]")),
                (
                    "revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intents",
                        to="reviews.revision",
                    ),
                ),
                (
                    "runtime",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intents",
                        to="runtimes.runtime",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intents",
                        to="people.workspace",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intents",
                        to="ledger.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("kind", models.CharField(max_length=24)),
                ("payload", models.TextField()),
                ("recorded_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="ledger.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("run", models.TextField()),
                ("call_id", models.TextField()),
                ("tool", models.TextField()),
                ("arguments", models.TextField()),
                ("arguments_digest", models.CharField(max_length=71)),
                ("labels", models.TextField()),
                ("decision", models.CharField(max_length=8)),
                ("code", models.CharField(max_length=60)),
                ("reason", models.TextField()),
                ("told", models.TextField(null=True)),
                ("publication", models.PositiveIntegerField()),
                ("decided_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reviews.document"
                    ),
                ),
                (
                    "grant_revision",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reviews.revision"
                    ),
                ),
                (
                    "runtime",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runtimes.runtime"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="people.workspace"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "agent", "tool", "-decided_at"], name="decisions_by_tool")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("runtime", "agent", "run", "call_id"), name="one_decision_per_call"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("decision__in", ["allow", "refuse", "hold"])), name="decision_is_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
                ("output", models.TextField(null=True)),
                ("error", models.TextField(null=True)),
                ("code", models.CharField(max_length=60)),
                ("message", models.TextField()),
                ("received_at", models.DateTimeField()),
                (
                    "intent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reports", to="ledger.intent"
                    ),
                ),
                (
                    "runtime",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runtimes.runtime"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["intent", "received_at"], name="reports_by_intent")],
            },
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("first_recorded_at__isnull", False)),
                fields=["workspace", "first_recorded_at", "run_id"],
                name="runs_by_first_event",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("resting_state__isnull", False)),
                fields=["workspace", "resting_state", "first_recorded_at", "run_id"],
                name="runs_by_resting_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(fields=("workspace", "run_id"), name="one_run_per_id"),
        ),
        migrations.AddIndex(
            model_name="leaseend",
            index=models.Index(fields=["run", "ended_at"], name="lease_ends_by_run"),
        ),
        migrations.AddConstraint(
            model_name="leaseend",
            constraint=models.CheckConstraint(
                condition=models.Q(("how__in", ["released", "lapsed", "dropped"])), name="lease_end_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="leaseend",
            constraint=models.CheckConstraint(
                condition=models.Q(("ended_at__gte", models.F("seen_at"))), name="lease_ends_after_it_was_seen"
            ),
        ),
        migrations.AddIndex(
            model_name="intent",
            index=models.Index(
                condition=models.Q(("standing", "open")), fields=["workspace", "waits_at", "id"], name="intents_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="intent",
            index=models.Index(
                condition=models.Q(("standing", "open")),
                fields=["workspace", "tool", "waits_at", "id"],
                name="intents_waiting_tool",
            ),
        ),
        migrations.AddIndex(
            model_name="intent",
            index=models.Index(
                condition=models.Q(("standing", "open")),
                fields=["workspace", "runtime", "waits_at", "id"],
                name="intents_waiting_runtime",
            ),
        ),
        migrations.AddIndex(
            model_name="intent",
            index=models.Index(
                condition=models.Q(("listed_at__isnull", True), ("standing", "open")),
                fields=["waits_at"],
                name="intents_unlisted",
            ),
        ),
        migrations.AddIndex(
            model_name="intent",
            index=models.Index(
                condition=models.Q(("likeness__isnull", False)),
                fields=["workspace", "likeness"],
                name="intents_by_likeness",
            ),
        ),
        migrations.AddConstraint(
            model_name="intent",
            constraint=models.UniqueConstraint(fields=("run", "seq"), name="one_intent_per_position"),
        ),
        migrations.AddConstraint(
            model_name="intent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("standing", "open")), fields=("run",), name="one_open_intent_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="intent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("holds_claim", True)), fields=("run", "idempotency_key"), name="one_claim_per_key"
            ),
        ),
        migrations.AddConstraint(
            model_name="intent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at__isnull", True), ("standing", "open")),
                    models.Q(
                        ("closed_at__isnull", False),
                        ("standing__in", ["completed", "settled", "copied", "abandoned"]),
                    ),
                    _connector="OR",
                ),
                name="intent_closed_has_a_time",
            ),
        ),
    ]
