"""Routes of settlement."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.settlement import verbs, views

app_name = "settlement"
urlpatterns: list[URLPattern | URLResolver] = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/changes/", views.changes, name="changes"),
    path("inbox/history/", views.history, name="history"),
    path("calls/<uuid:intent_id>/", views.call, name="call"),
    path("calls/<uuid:intent_id>/receipt/", views.receipt, name="receipt"),
    path("calls/<uuid:intent_id>/claim/", verbs.claim, name="claim"),
    path("calls/<uuid:intent_id>/release/", verbs.release, name="release"),
    path("calls/<uuid:intent_id>/hand-over/", verbs.hand_over, name="hand_over"),
    path("calls/<uuid:intent_id>/answer/", verbs.answer, name="answer"),
    path("calls/<uuid:intent_id>/notes/", verbs.note, name="note"),
    path("calls/<uuid:intent_id>/evidence/", verbs.add_evidence, name="evidence"),
    path("calls/<uuid:intent_id>/kept/discard/", verbs.discard, name="discard"),
    path("calls/<uuid:intent_id>/activity/", verbs.activity, name="activity"),
    path("evidence/<uuid:evidence_id>/", views.evidence_file, name="evidence_file"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
]
