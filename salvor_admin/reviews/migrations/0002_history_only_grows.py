"""Rows of history are neither changed nor deleted."""

from django.db import migrations

from salvor_admin.audit.history import only_grows


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_first"), ("audit", "0002_history_only_grows")]
    operations = [
        only_grows("reviews_revision"),
        only_grows("reviews_verdict"),
        only_grows("reviews_finding"),
        only_grows("reviews_acknowledgement"),
        only_grows("reviews_comment"),
        only_grows("reviews_publication"),
        only_grows("reviews_publicationitem"),
    ]
