"use strict";
// Draws the page from the data beside it. Text of the session only ever becomes text: nodes are made
// one by one, and no address is made of anything but an entry's id.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { entries, compactions, samples, strands } = data;
  const KINDS = ["system prompt", "checkpoint", "your words", "assistant’s words", "tool calls", "thinking", "tool output", "other messages"];
  const [PROMPT, CHECKPOINT] = [0, 1];
  const FILLING = { system: 0, compaction: 1, user: 2, assistant: 3, result: 6, bash: 6, custom: 7, branch: 7 };
  const NAMES = { user: "you", assistant: "assistant", result: "tool result", bash: "your command", custom: "extension message", system: "system prompt", branch: "branch summary", compaction: "compaction", edit: "context edit", label: "label", state: "extension state", damaged: "damaged line", other: "session metadata" };
  const METHODS = { verbatim: "verbatim", checkpoint: "from the model’s checkpoint", older: "by the older extension", summary: "a model’s summary" };
  const PARTS = { introduction: "Introduction", base: "An earlier summary, carried as it is", span: "What was said", emptied: "Spans without a line left", startup: "Retained: what was read first", pins: "Retained: pinned entries", state: "The model’s own note", files: "Files", checkpoint: "The model’s own checkpoint", carried: "Carried from before", digest: "Digest of what the checkpoint does not cover", words: "Words given with /compact", rest: "About this compaction", summary: "Summary", older: "Checkpoint" };
  const ROW = 52;

  // Small tools.

  const $ = (id) => document.getElementById(id);
  /** An element: properties (`class`, `on…`, `aria-…`, …), then children; strings become text. */
  function el(name, props, ...children) {
    return fill(document.createElement(name), props, children);
  }
  function svg(name, props, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), props, children);
  }
  function fill(node, props, children) {
    for (const [key, value] of Object.entries(props ?? {})) {
      if (value === undefined || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat(2).filter((child) => child !== undefined && child !== false && child !== ""));
    return node;
  }
  const format = new Intl.NumberFormat("en-GB");
  const num = (n) => format.format(Math.round(n));
  const some = (n, one, many = `${one}s`) => `${num(n)} ${n === 1 ? one : many}`;
  const about = (n) => `about ${some(n, "token")}`;
  const sum = (sizes) => sizes.reduce((total, size) => total + size, 0);
  const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(part / whole < 0.0995 ? 1 : 0)} %` : "");
  const bytes = (n) => (n < 1024 ? `${n} B` : n < 1048576 ? `${Math.floor(n / 1024)} KB` : `${(n / 1048576).toFixed(1)} MB`);
  const moment = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
  const minutes = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  function when(at, how = moment) {
    const time = new Date(at ?? NaN);
    return Number.isNaN(time.getTime()) ? "" : how.format(time);
  }
  const swatch = (kind) => el("i", { class: `sw c${kind}` });
  const narrow = matchMedia("(max-width: 48rem)");

  // What the data says, turned so that it can be asked.

  const branch = data.branch.flatMap(([first, count]) => Array.from({ length: count }, (_, at) => first + at));
  const position = new Int32Array(entries.length).fill(-1);
  branch.forEach((entry, at) => (position[entry] = at));
  const byId = new Map(entries.map((entry, at) => [entry.id, at]));
  const compactionOf = new Map(compactions.map((compaction, at) => [compaction.entry, at]));
  const latest = compactions.at(-1);
  const isMessage = (entry) => entry.kind in FILLING;
  const isKept = (entry) => entry.kind === "bash" && !entry.texts;

  /** What became of an entry: now, out, omitted, side, never. */
  function fate(entry) {
    if (entry.strand) return "side";
    if (!isMessage(entry) || isKept(entry)) return "never";
    if (entry.out) return "out";
    return entry.edited === "omitted" ? "omitted" : "now";
  }
  const spansNow = new Map((latest?.parts ?? []).filter((part) => part.of).map((part) => [part.of, part]));
  const linesOf = new Map();
  compactions.forEach((compaction, number) =>
    compaction.lines.forEach(([entry], at) => entry !== null && linesOf.set(entry, [...(linesOf.get(entry) ?? []), [number + 1, at]])),
  );
  /** Whether a line of the entry stands in the checkpoint that is in the context now. */
  function stands(number) {
    return (linesOf.get(number) ?? []).some(([of, at]) => spansNow.has(of) && !spansNow.get(of).gone?.includes(at));
  }
  function told(number) {
    const entry = entries[number];
    switch (fate(entry)) {
      case "side":
        return "On another branch: not in this context.";
      case "omitted":
        return "An edit of the context omits it.";
      case "now":
        return entry.edited ? "In the context now, with another content: an edit replaces it." : "In the context now.";
      case "out": {
        const took = `Compaction ${entry.out} took it out of the context. `;
        if (entry.kind === "compaction" || entry.kind === "system") return `Compaction ${entry.out} replaced it.`;
        if (!stands(number)) return `${took}It is in the session.`;
        return took + (entry.kind === "assistant" || entry.kind === "user" ? "What was said in it stands in the checkpoint word for word." : "A line of it stands in the checkpoint.");
      }
      default:
        return isKept(entry) ? "Kept from the model: it never was in the context." : "Never part of the context.";
    }
  }

  /** The command that prints an entry whole. */
  function show(entry) {
    const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
    const file = data.file === undefined ? "SESSION" : quoted(data.file.startsWith("-") ? `./${data.file}` : data.file);
    const leaf = entry.strand || data.session.leafGiven ? ` --leaf ${quoted(entry.id)}` : "";
    return el("code", { class: "whole" }, `pi-stet show ${file} ${quoted(entry.id)}${leaf}`);
  }
  const address = (number) => `#entry-${encodeURIComponent(entries[number].id)}`;
  const link = (number, ...inside) => el("a", { href: address(number), class: inside.length ? "" : "id" }, inside.length ? inside : entries[number].id);

  function nameOf(number) {
    const entry = entries[number];
    if (compactionOf.has(number)) return `compaction ${compactionOf.get(number) + 1}`;
    return entry.what || NAMES[entry.kind] || entry.kind;
  }
  const firstLine = (text) => text.split("\n", 40).find((line) => line.trim()) ?? "";
  function preview(number) {
    const entry = entries[number];
    const compaction = compactions[compactionOf.get(number)];
    if (compaction) return `${METHODS[compaction.method]}: ${num(sum(compaction.before))} → ${num(sum(compaction.after))} tokens`;
    const texts = entry.texts ?? [];
    const text = texts.find((one) => one.kind !== "thinking" && one.text) ?? texts.find((one) => one.text || one.note);
    if (!text) return isMessage(entry) ? "" : entry.what;
    const line = firstLine(text.text) || text.note || "";
    return text.kind === "toolCall" ? `${text.tool}(${line})` : line;
  }

  // The head of the page.

  const title = (data.file ?? "").split(/[\\/]/).at(-1).replace(/\.jsonl$/, "") || data.session.id || "A session";
  document.title = `${title} · context map`;
  $("title").textContent = title;
  const timed = branch.filter((number) => entries[number].at);
  const [begin, end] = [entries[timed[0]]?.at, entries[timed.at(-1)]?.at];
  const sameDay = when(begin, day) === when(end, day);
  const worthy = strands.map((strand, at) => [strand, at + 1]).filter(([strand]) => strand.tokens > 0);
  $("facts").append(
    [
      data.session.cwd,
      some(branch.length, "entry on this branch", "entries on this branch"),
      bytes(data.session.bytes),
      begin && `${when(begin)} – ${when(end, sameDay ? minutes : moment)}`,
      some(compactions.length, "compaction"),
      worthy.length > 0 && some(worthy.length, "other branch", "other branches"),
      `the context holds ${about(sum(data.now))}`,
    ]
      .filter(Boolean)
      .join(" · "),
  );
  const isModels = (compaction) => compaction && (compaction.method === "summary" || compaction.parts.some((part) => part.name === "base"));
  const notes = [
    data.session.damagedLines > 0 && `${some(data.session.damagedLines, "damaged line")} in the file; what could be read of it is here.`,
    data.session.broken && `The branch is not whole: ${data.session.broken}.`,
    data.session.leafGiven && "This is the branch of a leaf that was chosen, not of the file’s last entry.",
    data.session.parent && `Forked from ${data.session.parent}.`,
    isModels(latest) && "Part of the context is a summary that a model wrote: it may leave out or invent facts.",
  ].filter(Boolean);
  $("notes").hidden = notes.length === 0;
  $("notes").append(...notes.map((note) => el("li", {}, note)));
  $("foot").append(
    `Made by pi-stet ${data.version} on ${when(data.made)}. Token figures are estimates. The page loads nothing and sends nothing; it holds text of the session. ` +
      `Outputs are cut after ${num(data.outputChars)} characters, prose after ${num(data.proseChars)}; a cut text says how to get the rest.`,
  );

  const themes = document.querySelectorAll(".theme button");
  function useTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    for (const button of themes) button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
  }
  for (const button of themes) {
    button.addEventListener("click", () => {
      useTheme(button.dataset.theme);
      // A page from a file may have no storage.
      try {
        localStorage.setItem("stet-theme", button.dataset.theme);
      } catch {}
    });
  }
  try {
    const theme = localStorage.getItem("stet-theme");
    if (theme === "light" || theme === "dark") useTheme(theme);
  } catch {}

  // Pictures.

  /** A bar of parts: `[kind, size, left]`. */
  function stack(parts, whole, label) {
    const bar = el("div", { class: "stack", role: "img", "aria-label": label });
    for (const [kind, size, left] of parts) {
      if (size <= 0) continue;
      const part = el("i", { class: `c${kind}${left ? " left" : ""}`, title: `${KINDS[kind]}: ${num(size)}` });
      part.style.flex = `${size} 0 0`;
      bar.append(part);
    }
    bar.style.width = `${whole ? Math.max((100 * parts.reduce((total, [, size]) => total + size, 0)) / whole, 0.4) : 0}%`;
    return bar;
  }
  const parts = (sizes) => sizes.map((size, kind) => [kind, size]);
  const inWords = (sizes) => sizes.map((size, kind) => [size, KINDS[kind]]).filter(([size]) => size > 0).sort(([a], [b]) => b - a).map(([size, name]) => `${name} ${num(size)}`).join(", ");
  function table(head, rows) {
    const isText = (content) => typeof content === "string" && !/^[\d.,–% ]*$/.test(content);
    const cell = (tag, content, scope, text) => el(tag, { scope, class: text && "t" }, content);
    return el("table", {}, el("thead", {}, el("tr", {}, head.map((name, at) => cell("th", name, "col", isText(rows[0]?.[at]))))), el("tbody", {}, rows.map(([first, ...rest]) => el("tr", {}, cell("th", first, "row"), rest.map((content) => cell("td", content, undefined, isText(content)))))));
  }

  const used = KINDS.map((_, kind) => samples.some(([, sizes]) => sizes[kind] > 0));
  $("legend").append(...KINDS.map((name, kind) => used[kind] && el("span", {}, swatch(kind), name)).filter(Boolean));
  let cursor = samples.length - 1;
  function atSample(number) {
    const [at, sizes] = samples[number];
    const entry = entries[branch[at]];
    return `After entry ${num(at + 1)} of ${num(branch.length)}${entry.at ? `, ${when(entry.at)}` : ""}: ${about(sum(sizes))}${sum(sizes) ? ` (${inWords(sizes)})` : ""}`;
  }
  function drawHistory() {
    const figure = $("history");
    if (samples.length === 0) {
      figure.replaceChildren(el("p", { class: "empty" }, "The branch has no entries."));
      return;
    }
    const width = Math.max(figure.clientWidth, 240);
    const [left, right, top, height] = [46, 8, 30, narrow.matches ? 180 : 240];
    const inner = width - left - right;
    const most = Math.max(...samples.map(([, sizes]) => sum(sizes)), 1);
    const step = [1, 2, 2.5, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10(most / 4 || 1))).find((n) => most / n <= 4.5) ?? most;
    const ceiling = Math.max(Math.ceil(most / step) * step, 1);
    const x = (at) => left + (inner * (at + 1)) / branch.length;
    const y = (tokens) => top + height - (height * tokens) / ceiling;
    const short = (n) => (n >= 1e6 ? `${n / 1e6}M` : n >= 1000 ? `${n / 1000}k` : String(n));
    const drawing = svg("svg", { "aria-hidden": "true" });
    for (let tick = 0; tick <= ceiling * 1.001; tick += step) {
      drawing.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }), svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, short(tick)));
    }
    const thin = Math.ceil(samples.length / (inner / 2.5));
    const isEdge = (number) => [number, number + 1].some((n) => samples[n] && compactionOf.has(branch[samples[n][0]]));
    const drawn = samples.map((_, number) => number).filter((number) => number % thin === 0 || isEdge(number) || number === samples.length - 1);
    let from = left;
    for (const number of drawn) {
      const [at, sizes] = samples[number];
      const gap = x(at) - from > 5 ? 1 : 0;
      let base = 0;
      sizes.forEach((size, kind) => {
        if (size > 0) drawing.append(svg("rect", { class: `c${kind}`, x: from, y: y(base + size), width: Math.max(x(at) - from - gap, 0.5), height: Math.max(y(base) - y(base + size) - 0.5, 0.5) }));
        base += size;
      });
      from = x(at);
    }
    const ticks = Math.max(Math.floor(inner / 130), 2);
    let [lastDay, lastLabel] = ["", ""];
    for (let tick = 0; tick < ticks; tick += 1) {
      const at = Math.round(((branch.length - 1) * tick) / (ticks - 1));
      const entry = entries[branch[at]];
      const [today, hour] = [when(entry.at, day), when(entry.at, clock).slice(0, 5)];
      const label = today === lastDay ? hour : `${today} ${hour}`;
      if (label !== lastLabel) drawing.append(svg("text", { x: x(at), y: top + height + 17, "text-anchor": tick === 0 ? "start" : tick === ticks - 1 ? "end" : "middle" }, label));
      [lastDay, lastLabel] = [today, hour];
    }
    const flags = [];
    let lastFlag = -99;
    compactions.forEach((compaction, number) => {
      const middle = x(position[compaction.entry] - 0.5);
      drawing.append(svg("line", { class: "cut", x1: middle, x2: middle, y1: top - 4, y2: top + height }));
      if (middle - lastFlag < 28) return;
      lastFlag = middle;
      const flag = el("button", { type: "button", class: "flag", "aria-label": `Compaction ${number + 1}: ${num(sum(compaction.before))} to ${num(sum(compaction.after))} tokens`, onclick: () => goToCard(number) }, String(number + 1));
      flag.style.left = `${middle}px`;
      flags.push(flag);
    });
    const bottom = drawLanes(drawing, x, top + height + 30, width - right);
    drawing.setAttribute("height", bottom);
    drawing.setAttribute("viewBox", `0 0 ${width} ${bottom}`);
    const pointer = svg("line", { class: "cursor", y1: top, y2: top + height });
    drawing.append(pointer);
    const readout = el("p", { class: "readout" });
    const slider = el("div", { role: "slider", tabindex: "0", "aria-label": "Point in the history of the context", "aria-valuemin": "0", "aria-valuemax": String(samples.length - 1) }, drawing);
    const move = (to) => {
      cursor = Math.min(Math.max(to, 0), samples.length - 1);
      const at = x(samples[cursor][0]) - inner / branch.length / 2;
      pointer.setAttribute("x1", at);
      pointer.setAttribute("x2", at);
      readout.textContent = `${atSample(cursor)}.`;
      slider.setAttribute("aria-valuenow", String(cursor));
      slider.setAttribute("aria-valuetext", atSample(cursor));
    };
    const under = (event) => {
      const at = ((event.clientX - figure.getBoundingClientRect().left - left) / inner) * branch.length;
      const found = samples.findIndex(([to]) => to + 1 >= at);
      move(found < 0 ? samples.length - 1 : found);
    };
    slider.addEventListener("pointermove", under);
    slider.addEventListener("pointerdown", under);
    slider.addEventListener("click", () => open(branch[samples[cursor][0]]));
    slider.addEventListener("keydown", (event) => {
      const page = Math.ceil(samples.length / 10);
      const to = { ArrowLeft: cursor - 1, ArrowDown: cursor - 1, ArrowRight: cursor + 1, ArrowUp: cursor + 1, PageUp: cursor + page, PageDown: cursor - page, Home: 0, End: samples.length - 1 }[event.key];
      if (event.key === "Enter") open(branch[samples[cursor][0]]);
      else if (to === undefined) return;
      else move(to);
      event.preventDefault();
    });
    figure.replaceChildren(slider, ...flags, readout);
    move(cursor);
  }
  /** The other branches below the axis, each from where it leaves. */
  function drawLanes(drawing, x, top, edge) {
    const shown = worthy.filter(([strand]) => strand.from !== undefined && position[strand.from] >= 0);
    const lanes = [];
    for (const [strand] of shown) {
      const begin = x(position[strand.from] - 0.5);
      const length = Math.max(12, x(strand.entries - 1) - x(-1));
      let lane = lanes.findIndex((end) => end + 8 < begin);
      if (lane < 0 && lanes.length < 5) lane = lanes.push(0) - 1;
      if (lane < 0) lane = 4;
      const finish = Math.min(begin + 8 + length, edge);
      lanes[lane] = finish;
      const at = top + 6 + 9 * lane;
      drawing.append(svg("path", { class: "lane", d: `M${begin} ${top - 24}V${at - 4}q0 4 4 4H${finish}` }), svg("circle", { class: "knot", cx: finish, cy: at, r: 3 }));
    }
    return top + (lanes.length ? 4 + 9 * lanes.length : 0);
  }
  $("history-lead").append(
    compactions.length
      ? `Estimated tokens in the context after each entry of the branch, from the first to the last. A dotted line is a compaction.`
      : "Estimated tokens in the context after each entry of the branch, from the first to the last. It was not compacted yet.",
  );
  $("history-table").append(
    table(
      ["After entry", "Time", ...KINDS.filter((_, kind) => used[kind]), "Together"],
      thinned(samples, 60).map(([at, sizes]) => [num(at + 1), when(entries[branch[at]].at), ...sizes.filter((_, kind) => used[kind]).map(num), num(sum(sizes))]),
    ),
  );
  function thinned(list, most) {
    const every = Math.ceil(list.length / most);
    return list.filter((_, at) => at % every === 0 || at === list.length - 1);
  }
  if (worthy.length > 0) {
    const largest = [...worthy].sort(([a], [b]) => b.tokens - a.tokens).slice(0, 12).sort(([, a], [, b]) => a - b);
    const words = (strand, number) => {
      for (let at = strand.first; at <= strand.last; at += 1) if (entries[at].strand === number && entries[at].texts) return preview(at);
      return "";
    };
    $("strands").append(
      el("h4", {}, worthy.length > largest.length ? `Other branches (the ${largest.length} largest of ${num(worthy.length)})` : "Other branches"),
      el("div", { class: "scroll" }, table(["Leaves after", "Begins with", "Entries", "Tokens", ""], largest.map(([strand, number]) => [strand.from === undefined ? "the root" : link(strand.from), words(strand, number).slice(0, 120), num(strand.entries), num(strand.tokens), el("button", { type: "button", class: "text", onclick: () => list({ scope: `s${number}` }) }, "list")]))),
    );
  }

  // What fills the context now.

  function drawNow() {
    const whole = sum(data.now);
    const rows = [];
    const row = (name, tokens, kind) => rows.push(el("tr", { class: kind === undefined ? "sub" : "" }, el("th", { scope: "row" }, kind !== undefined && swatch(kind), name), el("td", {}, num(tokens)), el("td", {}, percent(tokens, whole))));
    data.now.forEach((size, kind) => {
      if (size === 0) return;
      row(kind === CHECKPOINT ? `checkpoint of compaction ${compactions.length}` : KINDS[kind], size, kind);
      if (kind === CHECKPOINT) for (const [name, tokens] of contents(latest)) row(name, tokens);
    });
    rows.push(el("tr", { class: "sum" }, el("th", { scope: "row" }, "together"), el("td", {}, num(whole)), el("td", {}, "")));
    const now = branch.filter((number) => fate(entries[number]) === "now" && entries[number].kind !== "compaction" && entries[number].tokens > 0);
    const largest = now.sort((a, b) => entries[b].tokens - entries[a].tokens).slice(0, 8);
    $("now").append(
      stack(parts(data.now), whole, `The context now, ${about(whole)}: ${inWords(data.now)}`),
      el(
        "div",
        { class: "pair" },
        el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["Kind", "Tokens", "Share"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows))),
        el("div", {}, el("h3", {}, "The largest entries in it"), el("div", { class: "scroll" }, table(["Entry", "What", "Tokens"], largest.map((number) => [link(number), [nameOf(number), ": ", preview(number).slice(0, 80)].join(""), num(entries[number].tokens)])))),
      ),
    );
  }
  /** What a checkpoint is made of. */
  function contents(compaction) {
    const found = new Map();
    const add = (name, tokens) => tokens > 0 && found.set(name, (found.get(name) ?? 0) + tokens);
    compaction.holds.forEach((size, kind) => add(["", "", "your words, word for word", "assistant’s words, word for word", "tool calls as signatures", "", "your commands with their outcome", "extension messages, branch summaries"][kind], size));
    const spans = compaction.parts.filter((part) => part.of).reduce((total, part) => total + part.tokens, 0);
    add("tags around them", spans - sum(compaction.holds));
    for (const part of compaction.parts) if (!part.of) add((PARTS[part.name] ?? part.name).toLowerCase(), part.tokens);
    return found;
  }

  // Compactions.

  const retained = (compaction) => compaction.parts.flatMap((part) => part.parts ?? []);
  function card(compaction, number) {
    const entry = entries[compaction.entry];
    const scale = Math.max(sum(compaction.before), sum(compaction.after));
    const took = sum(compaction.took);
    const by = { manual: "by hand", threshold: "because the context was full", overflow: "after an overflow" }[compaction.trigger] ?? "";
    const taken = branch.slice(...compaction.range).filter((at) => isMessage(entries[at]) && entries[at].kind !== "system" && entries[at].kind !== "compaction").length;
    const kept = retained(compaction);
    const [gone, cut] = compaction.trimmedLines;
    const sentences = [
      `It took ${some(taken, "entry", "entries")}, ${about(took)}, out of the conversation`,
      compaction.before[CHECKPOINT] ? ` together with the checkpoint before it` : "",
      `; ${about(compaction.after[CHECKPOINT])} of ${compaction.method === "summary" ? "a model’s summary" : "checkpoint"} stand in their place, and ${some(sum(compaction.stayed), "token")} of recent conversation stayed as they were.`,
    ];
    const rows = compaction.took.map((size, kind) => {
      if (size === 0) return [];
      const stand = Math.min(compaction.stands[kind], size);
      const how = [2, 3].includes(kind) ? "word for word" : kind === 4 ? "as signatures" : "as lines";
      const words = compaction.stands[kind] ? `${num(compaction.stands[kind])} stand ${how}` : "left the context";
      return [el("span", {}, swatch(kind), KINDS[kind]), el("b", {}, num(size)), el("div", {}, stack([[kind, stand], [kind, size - stand, true]], size, `${KINDS[kind]}: of ${num(size)} tokens ${words}`)), el("span", { class: "soft" }, words)];
    });
    return el(
      "article",
      { class: "card", id: `compaction-${number + 1}`, tabindex: "-1" },
      el("h3", {}, `Compaction ${number + 1}: ${METHODS[compaction.method]} `, el("span", { class: "when" }, [when(entry.at), by].filter(Boolean).join(", "))),
      el("p", {}, sentences),
      compaction.words && el("p", {}, "With the words: ", el("q", {}, compaction.words)),
      el("div", { class: "bars" }, ...[["before", compaction.before], ["after", compaction.after]].flatMap(([name, sizes]) => [el("span", {}, name), el("div", {}, stack(parts(sizes), scale, `${name}: ${about(sum(sizes))}: ${inWords(sizes)}`))])),
      took > 0 && el("div", { class: "kinds" }, rows),
      gone + cut > 0 && el("p", {}, `The size cap took ${some(gone, "line")} from the spans of this checkpoint and cut ${num(cut)}, ${about(sum(compaction.trimmed))}: ${inWords(compaction.trimmed)}.`),
      kept.length > 0 && el("p", {}, `Retained word for word, output included, ${about(kept.reduce((total, part) => total + part.tokens, 0))}: `, kept.flatMap((part, at) => [at ? ", " : "", part.entry === undefined ? part.what : link(part.entry, part.what)])),
      el("div", { class: "acts" }, el("button", { type: "button", onclick: () => open(compaction.entry) }, "Read the checkpoint"), took > 0 && el("button", { type: "button", onclick: () => list({ fate: `out${number + 1}` }) }, "List what it took out")),
      el("details", {}, el("summary", {}, "As a table"), el("div", { class: "scroll" }, table(["Tokens", "Before", "Taken out", "Stand in the checkpoint", "Trimmed by the cap", "Stayed", "After"], [...KINDS.map((name, kind) => [name, ...[compaction.before, compaction.took, compaction.stands, compaction.trimmed, compaction.stayed, compaction.after].map((sizes) => num(sizes[kind]))]), ["together", ...[compaction.before, compaction.took, compaction.stands, compaction.trimmed, compaction.stayed, compaction.after].map((sizes) => num(sum(sizes)))]]))),
    );
  }
  function drawCards(most) {
    const from = Math.max(compactions.length - most, 0);
    const shown = compactions.slice(from).map((compaction, at) => card(compaction, from + at)).reverse();
    $("cards").replaceChildren(
      compactions.length === 0 ? el("p", { class: "lead" }, "This branch was not compacted yet. ", el("code", {}, "pi-stet compact SESSION"), " prints what a compaction would give now.") : el("p", { class: "lead" }, "Newest first. The full part of a bar stands in the checkpoint, its labels counted with it; what is hatched left the context and is in the session."),
      ...shown,
      from > 0 ? el("button", { type: "button", onclick: () => drawCards(Infinity) }, `Show the ${some(from, "earlier one", "earlier ones")}`) : "",
    );
  }
  function goToCard(number) {
    if (!$(`compaction-${number + 1}`)) drawCards(Infinity);
    const target = $(`compaction-${number + 1}`);
    target.scrollIntoView({ block: "start" });
    target.focus({ preventScroll: true });
  }

  // The list: only the rows in view are there.

  const [scroller, rows] = [$("list"), $("rows")];
  let view = [];
  let chosen = -1;
  let query = "";
  const lower = [];
  /** What a search looks at. */
  function searched(number) {
    if (lower[number] === undefined) {
      const entry = entries[number];
      const compaction = compactions[compactionOf.get(number)];
      const texts = compaction ? compaction.parts.map((part) => part.text ?? "") : (entry.texts ?? []).map((text) => `${text.tool ?? ""} ${text.text}`);
      lower[number] = `${entry.id}\n${nameOf(number)}\n${entry.label ?? ""}\n${texts.join("\n")}`.toLowerCase();
    }
    return lower[number];
  }
  const option = (value, name) => el("option", { value }, name);
  $("scope").append(option("branch", "this branch"), ...worthy.slice(0, 200).map(([strand, number]) => option(`s${number}`, `branch ${number} (${num(strand.entries)})`)), ...(strands.length ? [option("all", "all of the file")] : []));
  const kindsThere = new Set(entries.map((entry) => entry.kind));
  $("kind").append(option("", "all kinds"), ...Object.keys(NAMES).filter((kind) => kindsThere.has(kind)).map((kind) => option(kind, NAMES[kind])));
  $("fate").append(option("", "anywhere"), option("now", "in the context now"), ...(compactions.length ? [option("out", "taken out")] : []), ...compactions.slice(-200).map((_, at) => Math.max(compactions.length - 200, 0) + at + 1).map((number) => option(`out${number}`, `taken out by ${number}`)));
  function filter() {
    const [scope, kind, where] = [$("scope").value, $("kind").value, $("fate").value];
    query = $("query").value.trim().toLowerCase();
    const from = scope === "branch" ? branch : scope === "all" ? entries.keys() : entries.keys().filter?.((at) => entries[at].strand === Number(scope.slice(1))) ?? [];
    view = [];
    for (const number of from) {
      const entry = entries[number];
      if (kind && entry.kind !== kind) continue;
      if (where === "now" || where === "out" ? fate(entry) !== where : where && !(fate(entry) === "out" && entry.out === Number(where.slice(3)))) continue;
      if (query && !searched(number).includes(query)) continue;
      view.push(number);
    }
    const all = scope === "branch" ? branch.length : scope === "all" ? entries.length : view.length;
    $("count").textContent = view.length === all ? some(all, "entry", "entries") : `${num(view.length)} of ${some(all, "entry", "entries")}`;
    if (query) $("count").textContent += "; cut texts were searched up to their cut";
    chosen = view.indexOf(current);
    rows.style.height = `${view.length * ROW}px`;
    scroller.scrollTop = chosen >= 0 ? chosen * ROW - scroller.clientHeight / 3 : 0;
    drawRows();
    if (current >= 0) read(current, false);
  }
  /** Sets the filters and shows the list. */
  function list({ scope = "branch", fate: where = "" }) {
    $("scope").value = scope;
    $("fate").value = where;
    $("kind").value = "";
    $("query").value = "";
    filter();
    $("entries").scrollIntoView({ block: "start" });
    scroller.focus({ preventScroll: true });
  }
  function drawRows() {
    const first = Math.max(Math.floor(scroller.scrollTop / ROW) - 4, 0);
    const last = Math.min(first + Math.ceil(scroller.clientHeight / ROW) + 8, view.length);
    const shown = [];
    for (let at = first; at < last; at += 1) shown.push(row(at));
    if (chosen >= 0 && (chosen < first || chosen >= last)) shown.push(row(chosen));
    rows.replaceChildren(...shown);
    if (view.length === 0) rows.append(el("p", { class: "empty" }, "No entry fits. ", query && ["The whole session, cut texts included: ", el("code", {}, "pi-stet grep SESSION PATTERN")]));
    if (chosen >= 0) scroller.setAttribute("aria-activedescendant", `row-${view[chosen]}`);
    else scroller.removeAttribute("aria-activedescendant");
  }
  function row(at) {
    const number = view[at];
    const entry = entries[number];
    const kind = FILLING[entry.kind];
    const where = fate(entry);
    const isStet = where === "out" && (entry.kind === "user" || entry.kind === "assistant") && stands(number);
    const classes = ["row", kind !== undefined && `c${kind}`, (entry.kind === "result" || entry.kind === "bash") && "mono", where !== "now" && "gone", where === "side" && "side"];
    const node = el(
      "div",
      { class: classes.filter(Boolean).join(" "), role: "option", id: `row-${number}`, "aria-selected": String(at === chosen), "aria-setsize": String(view.length), "aria-posinset": String(at + 1), onclick: () => open(number) },
      el("div", {}, el("span", { class: `what${entry.failed ? " failed" : ""}` }, nameOf(number), entry.label && ` · ${entry.label}`), el("span", { class: "n" }, entry.tokens ? num(entry.tokens) : ""), el("span", { class: "n" }, when(entry.at, clock))),
      el("span", { class: "say" }, isStet ? el("span", { class: "stays" }, snippet(number)) : snippet(number)),
    );
    node.style.transform = `translateY(${at * ROW}px)`;
    return node;
  }
  /** The first line, or the one that the search found. */
  function snippet(number) {
    if (!query) return preview(number).slice(0, 200);
    const text = (entries[number].texts ?? []).find((one) => one.text.toLowerCase().includes(query))?.text;
    if (text === undefined) return marked(preview(number).slice(0, 200));
    const at = text.toLowerCase().indexOf(query);
    const from = Math.max(at - 24, 0);
    return marked((from ? "…" : "") + text.slice(from, at + 160).replace(/\s+/g, " "));
  }
  /** A text with what the search found marked. */
  function marked(text) {
    if (!query) return [text];
    const low = text.toLowerCase();
    // Some letters change their length; what cannot be told apart is not marked.
    if (low.length !== text.length) return [text];
    const out = [];
    let from = 0;
    for (let at = low.indexOf(query); at >= 0 && out.length < 1000; at = low.indexOf(query, from)) {
      out.push(text.slice(from, at), el("mark", {}, text.slice(at, at + query.length)));
      from = at + query.length;
    }
    return [...out, text.slice(from)];
  }
  function choose(at) {
    chosen = Math.min(Math.max(at, 0), view.length - 1);
    if (chosen < 0) return;
    const top = chosen * ROW;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW - scroller.clientHeight;
    drawRows();
    if (!narrow.matches) {
      read(view[chosen]);
      history.replaceState(null, "", address(view[chosen]));
    }
  }
  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawRows();
    });
  });
  scroller.addEventListener("keydown", (event) => {
    const page = Math.max(Math.floor(scroller.clientHeight / ROW) - 1, 1);
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: chosen + page, PageUp: chosen - page, Home: 0, End: view.length - 1 }[event.key];
    if (event.key === "Enter" && chosen >= 0) open(view[chosen]);
    else if (to === undefined) return;
    else choose(to);
    event.preventDefault();
  });
  let pause;
  $("query").addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(filter, 120);
  });
  $("query").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(pause);
    filter();
    scroller.focus();
    if (chosen < 0) choose(0);
  });
  $("filter").addEventListener("change", (event) => event.target.id !== "query" && filter());
  $("filter").addEventListener("submit", (event) => event.preventDefault());

  // The reader.

  const reader = $("reader");
  let current = -1;
  /** Goes to an entry at once; the browser's back button comes back. */
  function open(number) {
    if (location.hash !== address(number)) history.pushState(null, "", address(number));
    route();
  }
  function route(atStart) {
    const hash = location.hash.slice(1);
    let id = hash;
    try {
      id = decodeURIComponent(hash);
    } catch {}
    const number = byId.get(id.replace(/^entry-/, "")) ?? byId.get(id);
    if (number === undefined) {
      document.body.classList.remove("reading");
      return;
    }
    if (atStart === true && !view.includes(number)) {
      $("scope").value = entries[number].strand && $("scope").querySelector(`[value="s${entries[number].strand}"]`) ? `s${entries[number].strand}` : entries[number].strand ? "all" : "branch";
      filter();
    }
    read(number);
    chosen = view.indexOf(number);
    const top = chosen * ROW;
    if (chosen >= 0 && (top < scroller.scrollTop || top + ROW > scroller.scrollTop + scroller.clientHeight)) scroller.scrollTop = top - scroller.clientHeight / 3;
    drawRows();
    document.body.classList.add("reading");
    if (!narrow.matches) $("entries").scrollIntoView({ block: "nearest" });
    reader.focus({ preventScroll: true });
  }
  function close() {
    document.body.classList.remove("reading");
    history.replaceState(null, "", location.href.split("#")[0]);
    scroller.focus({ preventScroll: true });
  }
  /** Fills the reader. */
  function read(number, fromTop = true) {
    current = number;
    const entry = entries[number];
    const kind = FILLING[entry.kind];
    const at = position[number];
    const split = entry.split ? ` (${[[entry.tokens - sum(entry.split), "words"], [entry.split[0], "calls"], [entry.split[1], "thinking"]].filter(([size]) => size > 0).map(([size, name]) => `${name} ${num(size)}`).join(", ")})` : "";
    const inList = view.includes(number);
    reader.replaceChildren(
      el(
        "div",
        { class: "top" },
        el("h3", {}, kind !== undefined && swatch(kind), nameOf(number).replace(/^./, (letter) => letter.toUpperCase()), " ", el("a", { class: "id", href: address(number) }, entry.id)),
        !inList && el("button", { type: "button", onclick: () => { list({ scope: entry.strand ? "all" : "branch" }); choose(view.indexOf(number)); } }, "Find it in the list"),
        el("button", { type: "button", class: "close", onclick: close }, "Close"),
      ),
      el("p", { class: "meta" }, [when(entry.at) && `${when(entry.at, day)} ${when(entry.at, clock)}`, at >= 0 ? `entry ${num(at + 1)} of ${num(branch.length)}` : `on branch ${entry.strand}`, entry.tokens > 0 && `${about(entry.tokens)}${split}`, entry.label && `label: ${entry.label}`].filter(Boolean).join(" · "), el("br"), told(number), entry.call !== undefined && [" The call is in ", link(entry.call), "."]),
      ...(compactionOf.has(number) ? checkpoint(compactionOf.get(number)).flat() : texts(entry)),
    );
    if (fromTop) reader.scrollTop = 0;
  }
  function texts(entry) {
    const all = entry.texts ?? [];
    if (all.length === 0) return [el("p", { class: "more" }, isKept(entry) ? "A command with !! is not shown: it was kept from the model." : "There is no text to show.", " ", el("br"), show(entry))];
    const nodes = all.flatMap((text) => {
      const head = text.kind === "toolCall" ? `calls ${text.tool}` : text.kind === "thinking" ? "thinking" : "";
      const mono = ["toolCall", "toolResult", "bash"].includes(text.kind);
      return [
        (head || text.result !== undefined) && el("h4", {}, el("span", {}, head), text.result !== undefined && el("span", { class: entries[text.result].failed ? "failed" : "" }, entries[text.result].failed ? "failed: " : "result: ", link(text.result))),
        text.note && el("p", { class: "more" }, text.note),
        text.text && el(mono ? "pre" : "div", { class: mono ? "" : text.kind === "thinking" ? "prose thought" : "prose" }, marked(text.text)),
        text.chars > 0 && el("p", { class: "more" }, `Cut: ${num([...text.text].length)} of ${num(text.chars)} characters are here. The whole: `, show(entry)),
      ];
    });
    return nodes.filter(Boolean);
  }

  /** A checkpoint, part by part and line by line. */
  function checkpoint(number) {
    const compaction = compactions[number];
    const nodes = [el("p", {}, `${METHODS[compaction.method].replace(/^./, (letter) => letter.toUpperCase())}: ${about(compaction.after[CHECKPOINT])} in the context. `, el("button", { type: "button", class: "text", onclick: () => goToCard(number) }, "What it took out"))];
    for (const part of compaction.parts) {
      const head = el("h4", {}, el("span", {}, part.of ? `Span ${part.of}: what compaction ${part.of} took out` : (PARTS[part.name] ?? part.name), part.entry !== undefined && [", from ", link(part.entry)]), el("span", {}, `${num(part.tokens)} tokens`));
      if (part.of) nodes.push(head, lines(part, compactions[part.of - 1].lines));
      else if (part.name === "introduction") nodes.push(el("details", {}, el("summary", {}, `Introduction, ${num(part.tokens)} tokens`), body(part, compaction)));
      else if (part.parts) nodes.push(head, ...part.parts.map((inner) => el("details", { open: part.parts.length === 1 }, el("summary", {}, `${inner.what}, ${num(inner.tokens)} tokens`), inner.entry !== undefined && el("p", { class: "meta" }, "from ", link(inner.entry)), body(inner, compaction, true))));
      else nodes.push(head, body(part, compaction, ["files", "digest", "carried", "checkpoint", "state"].includes(part.name)));
    }
    return nodes;
  }
  function body(part, compaction, mono) {
    const ours = compaction.method === "verbatim" || compaction.method === "checkpoint";
    const plain = part.name === "retained" || part.name === "base" || !ours;
    return [
      el(mono ? "pre" : "div", { class: mono ? "" : "prose" }, plain ? marked(part.text ?? "") : linked(part.text ?? "")),
      part.chars > 0 && el("p", { class: "more" }, `Cut: the whole has ${num(part.chars)} characters: `, show(entries[part.entry ?? compaction.entry])),
    ].filter(Boolean);
  }
  /** A text of ours: what stands in brackets behind an outcome is an entry. */
  function linked(text) {
    const out = [];
    let from = 0;
    for (const found of text.matchAll(/\[(?:[^[\]\n]{0,60} )?([^\s[\]]{1,80})\]/g)) {
      const number = byId.get(found[1]);
      if (number === undefined) continue;
      const at = found.index + found[0].length - 1 - found[1].length;
      out.push(marked(text.slice(from, at)), link(number));
      from = at + found[1].length;
    }
    return [...out, marked(text.slice(from))].flat();
  }
  /** The lines of a span, more of them as they are scrolled to. */
  function lines(part, all) {
    const box = el("div");
    const gone = new Set(part.gone);
    const cut = new Map(part.cut);
    let next = 0;
    const more = () => {
      const until = Math.min(next + 150, all.length);
      for (; next < until; next += 1) {
        const [entry, kind, text] = all[next];
        const filling = { user: 2, assistant: 3, ended: 3, calls: 4, bash: 6 }[kind] ?? 7;
        const isGone = gone.has(next);
        box.append(
          el(
            "div",
            { class: `line ${kind} c${filling}${isGone ? " gone" : ""}` },
            entry === null ? el("span", {}) : link(entry),
            el("div", {}, isGone && el("span", { class: "failed" }, "trimmed"), kind === "calls" || kind === "bash" || kind === "custom" ? linked(cut.get(next) ?? text) : marked(cut.get(next) ?? text)),
          ),
        );
      }
      if (next < all.length) {
        const rest = el("p", { class: "more" }, `${num(all.length - next)} more lines`);
        box.append(rest);
        const seen = new IntersectionObserver((found) => {
          if (!found.some((one) => one.isIntersecting)) return;
          seen.disconnect();
          rest.remove();
          more();
        }, { root: reader, rootMargin: "600px" });
        seen.observe(rest);
      }
    };
    more();
    if (all.length === 0) box.append(el("p", { class: "more" }, "No line: nothing was said in it."));
    return box;
  }

  // The back button, and an address that was changed by hand.
  addEventListener("hashchange", route);
  addEventListener("click", (event) => {
    const href = event.target.closest?.("a")?.getAttribute("href");
    const number = href?.startsWith("#entry-") ? byId.get(decodeURIComponent(href.slice("#entry-".length))) : undefined;
    if (number === undefined || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(number);
  });
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && (reader.contains(event.target) || document.body.classList.contains("reading"))) close();
    else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      document.body.classList.remove("reading");
      $("query").focus();
      $("entries").scrollIntoView({ block: "start" });
    }
  });
  let size = 0;
  new ResizeObserver(() => {
    const width = $("history").clientWidth;
    if (width !== size) drawHistory();
    size = width;
    drawRows();
  }).observe($("history"));
  narrow.addEventListener("change", drawRows);

  drawHistory();
  drawNow();
  drawCards(6);
  filter();
  if (location.hash) route(true);
  if (current < 0) reader.append(el("p", { class: "empty" }, "Choose an entry to read it."));
})();
