"""That rules looked at a revision is kept beside what they found."""

import django.db.models.deletion
from django.db import migrations, models

from salvor_admin.audit.history import only_grows

# Revisions saved before were looked at by the rules of version 1, when they were saved.
LOOKED_AT = """
INSERT INTO reviews_examination (revision_id, rule_set, examined_at) SELECT id, 1, saved_at FROM reviews_revision;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0002_history_only_grows")]
    operations = [
        migrations.CreateModel(
            name="Examination",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rule_set", models.PositiveIntegerField()),
                ("examined_at", models.DateTimeField()),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="examinations", to="reviews.revision"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("revision", "rule_set"), name="one_examination_per_rule_set")
                ],
            },
        ),
        migrations.AlterField(
            model_name="changeitem",
            name="revision",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="change_items",
                to="reviews.revision",
            ),
        ),
        migrations.RunSQL(LOOKED_AT, migrations.RunSQL.noop),
        only_grows("reviews_examination"),
    ]
