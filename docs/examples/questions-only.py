#!/usr/bin/env python3
"""A binary for the extension in 30 lines: compaction keeps what the user said, and nothing else.

    PI_STET_BIN=docs/examples/questions-only.py pi
"""
import json, sys

MANIFEST = {"protocol": 1, "name": "questions-only", "version": "1",
            "hooks": [{"event": "session_before_compact", "session": True, "timeoutMs": 5000, "active": True}]}

def entries(session):
    if "branch" in session:
        return session["branch"]
    lines = [json.loads(line) for line in open(session["file"], encoding="utf-8") if line.strip()]
    by_id = {line["id"]: line for line in lines if line["type"] != "session"}
    path, entry = [], by_id.get(session["leafId"])
    while entry:
        path.append(entry)
        entry = by_id.get(entry["parentId"])
    return path[::-1]

def text(content):
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)

if sys.argv[1:] == ["manifest"]:
    print(json.dumps(MANIFEST))
else:
    envelope = json.load(sys.stdin)
    kept, said = envelope["cut"]["firstKeptEntryId"], []
    for entry in entries(envelope["session"]):
        if entry["id"] == kept:
            break
        if entry["type"] == "message" and entry["message"]["role"] == "user":
            said.append("- " + text(entry["message"]["content"]))
    print(json.dumps({"protocol": 1, "result": {"compaction": {
        "summary": "The user said:\n" + "\n".join(said), "firstKeptEntryId": kept,
        "tokensBefore": envelope["cut"]["tokensBefore"]}}}))
