#!/usr/bin/env python3
"""host.py BINARY ENVELOPE [ANSWERS]: a host of protocol 1, written from protocol/README.md alone.

Sends the envelope as an agent would and prints what it did, one JSON object a line. ANSWERS is a
JSON list: what the person and the model say, one after the other. The sessions beside the envelope
(sessions/*.jsonl) are what this host has in memory."""
import contextlib, json, subprocess, sys, threading
from pathlib import Path

OUTCOMES = ("result", "ask", "complete", "error")

def say(**line):
    print(json.dumps(line))

def feed(pipe, data):
    with contextlib.suppress(OSError):  # it answered, or ended, before it had read everything
        pipe.write(data)
        pipe.close()

def run(binary, command, data, seconds, limit=1 << 20):
    child = subprocess.Popen([binary, command], stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    timer = threading.Timer(seconds, child.kill)
    timer.start()
    threading.Thread(target=feed, args=(child.stdin, data), daemon=True).start()
    out = child.stdout.read(limit + 1)
    if len(out) > limit:
        child.kill()
    status, reply = child.wait(), None
    timer.cancel()
    with contextlib.suppress(ValueError):
        reply = json.loads(out)
    if len(out) > limit or status not in (0, 2, 70) or not isinstance(reply, dict):
        raise RuntimeError(f"no reply, status {status}")
    if reply.get("protocol") != 1 or sum(name in reply for name in OUTCOMES) > 1:
        raise RuntimeError("not a reply of protocol 1")
    return reply

def inline(session, folder):
    if "branch" in session:
        return session
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines() if line[0] == "{"]
    entries = {entry["id"]: entry for entry in map(json.loads, lines)}
    branch, at = [], session["leafId"]
    while at is not None:
        branch.insert(0, entries[at])
        at = entries[at]["parentId"]
    return {"id": session["id"], "cwd": session["cwd"], "branch": branch, "labels": {}}

def apply(effect, envelope, folder):
    say(effect=effect)
    if effect["type"] == "appendEntry" and "session" in envelope:
        # This host writes no session files, so from here on the session goes inline.
        session = envelope["session"] = inline(envelope["session"], folder)
        branch, parent = session["branch"], session["branch"][-1]["id"] if session["branch"] else None
        branch.append({"type": "custom", "customType": effect["customType"], "data": effect["data"],
                       "id": f"new{len(branch)}", "parentId": parent, "timestamp": "2026-01-05T10:00:00.000Z"})

def call(binary, manifest, envelope, folder, answers):
    where = {"tool": "tools", "command": "commands"}.get(envelope["event"], "hooks")
    name = envelope["event"] if where == "hooks" else envelope["payload"]["name"]
    spec = [one for one in manifest[where] if name in (one.get("event"), one.get("name"))]
    seconds, limit = spec[0]["timeoutMs"] / 1000 if spec else 25, manifest["limits"]["replyBytes"]
    left = 200  # for replies that do not say
    while True:
        reply = run(binary, "hook", json.dumps(envelope).encode(), seconds, limit)
        if reply.get("error", {}).get("code") == "session-stale" and "branch" not in envelope["session"]:
            say(repeat="inline")
            envelope["session"] = inline(envelope["session"], folder)
            reply = run(binary, "hook", json.dumps(envelope).encode(), seconds, limit)
        for effect in reply.get("effects", []):
            apply(effect, envelope, folder)
        if "ask" not in reply and "complete" not in reply:
            return reply
        if (left := min(left, reply.get("stepsLeft", left)) - 1) < 0:
            raise RuntimeError("more steps than it had announced")
        envelope = {key: envelope[key] for key in envelope if key not in ("state", "completion")}
        envelope.update({"state": reply["state"]} if "state" in reply else {})
        if "ask" in reply:
            answer = answers.pop(0) if envelope.get("host", {}).get("hasUI") and answers else {"cancelled": True}
            envelope["answers"] = {**envelope.get("answers", {}), reply["ask"]["id"]: answer}
        else:
            answer = answers.pop(0) if answers else {"error": {"kind": "noModel", "message": "there is none"}}
            envelope["completion"] = answer
        say(step=reply.get("ask") or reply["complete"], progress=reply.get("progress"), answer=answer)

def main(binary, path, answers="[]"):
    folder = Path(path).resolve().parent
    text = Path(path).read_text().replace("{{dir}}", str(folder))
    manifest = run(binary, "manifest", b"", 10)
    try:
        reply = call(binary, manifest, json.loads(text), folder / "sessions", json.loads(answers))
    except json.JSONDecodeError:  # no envelope at all: what does the binary say to that?
        reply = run(binary, "hook", text.encode(), 25)
    return {name: reply[name] for name in ("result", "error") if name in reply} or {"noOpinion": True}

try:
    say(**main(*sys.argv[1:]))
except RuntimeError as failure:
    say(failure=str(failure))
