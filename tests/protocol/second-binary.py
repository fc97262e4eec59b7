#!/usr/bin/env python3
"""Another binary of the protocol, for what a host must do and pi-stet does not (yet) ask for.

Event `visit` is a conversation of four steps. The other events go wrong, each in its way."""
import json, sys, time

HOOKS = ["visit", "garbage", "crash", "hang", "flood", "two-outcomes", "other-protocol", "endless"]


def reply(**fields):
    print(json.dumps({"protocol": 1, **fields}))


def visit(envelope):
    answers, state = envelope.get("answers", {}), envelope.get("state")
    if state is None:
        reply(effects=[{"type": "notify", "level": "info", "message": "Good day."},
                       {"type": "appendEntry", "customType": "visitor", "data": {"came": True}}],
              ask={"id": "drink", "kind": "select", "title": "A drink?", "options": ["tea", "coffee"], "timeoutMs": 9000},
              stepsLeft=3, state=["drink"])
    elif state == ["drink"]:
        # What the step before appended is on the branch of this one, and it is the leaf.
        assert envelope["session"]["branch"][-1]["customType"] == "visitor"
        reply(ask={"id": "sugar", "kind": "confirm", "title": "Sugar?", "message": "One lump.", "timeoutMs": 9000},
              progress="the water boils", stepsLeft=2, state=["drink", "sugar"])
    elif state == ["drink", "sugar"]:
        assert list(answers) == ["drink", "sugar"] and "completion" not in envelope
        reply(complete={"systemPrompt": "Praise the drink.", "messages": [], "tools": [], "maxTokens": 20,
                        "sessionId": "visit", "timeoutMs": 9000}, stepsLeft=1, state="praise")
    else:
        assert state == "praise"
        reply(result={"drink": answers["drink"], "sugar": answers["sugar"], "said": envelope["completion"]})


def hook(envelope):
    event = envelope["event"]
    if event == "visit":
        visit(envelope)
    elif event == "garbage":
        print("not JSON")
    elif event == "crash":
        reply(result={})
        sys.exit(1)
    elif event == "hang":
        time.sleep(600)
    elif event == "flood":
        sys.stdout.write("x" * 3_000_000)
    elif event == "two-outcomes":
        reply(result={}, error={"code": "defect", "message": "both", "hint": "none"})
    elif event == "other-protocol":
        print(json.dumps({"protocol": 2, "result": {}}))
    elif event == "endless":
        reply(ask={"id": "again", "kind": "input", "title": "And now?", "timeoutMs": 9000}, stepsLeft=2)


if sys.argv[1:] == ["manifest"]:
    hooks = [{"event": event, "session": True, "timeoutMs": 1500, "active": True} for event in HOOKS]
    reply(name="visit", version="1", limits={"deadlineMs": 1000, "stdinMs": 500, "replyBytes": 1_000_000},
          hooks=hooks, tools=[], commands=[], promptSections=[], messageTypes=[])
else:
    hook(json.load(sys.stdin))
