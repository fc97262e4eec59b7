pi-stet: /dev/null is not a Pi session: not a regular file; name a session file that Pi wrote; they lie under ~/.pi/agent/sessions
