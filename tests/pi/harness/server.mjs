// A scripted model server: OpenAI-compatible chat completions whose answers a
// test writes down beforehand. Every request body is kept, so that a test can
// look at what Pi really sent. No dependencies.
//
//   import { startModelServer } from "./server.mjs";
//   const server = await startModelServer({ script: { steps: [{ text: "hello" }] } });
//
// Script = { rules?: Rule[], steps?: Step[], fallback?: Step }
// For each request the first rule that matches and has times left answers;
// else the next of `steps`; else `fallback`.
//
// Step =
//   text          the prose of the answer
//   reasoning     thinking text, sent before the prose
//   toolCalls     [{ name, arguments, id? }]
//   usage         { prompt_tokens?, completion_tokens?, cached_tokens? }
//                 (default: bytes of the request / 4, so that context grows as it would)
//   finishReason  default "tool_calls" or "stop"
//   status, error an HTTP error instead of an answer
//   delayMs       wait before answering
//   chunkSize     characters of prose per chunk (default 200)
//   hang          true: never answer; a number: send that many chunks, then nothing more
//   dropAfter     send that many chunks, then cut the connection
// In texts {{n}} is the number of the request and {{lastUser}} its last user message.
//
// Rule = { when: { bodyIncludes?, bodyRegex?, lastUserIncludes?, systemIncludes?, model?, hasTool? },
//          reply: Step, times? }
import http from "node:http";

/** What Pi's own summariser says of itself in its system prompt. */
export const SUMMARISER = "summarization assistant";

/** The text of a message's content, whatever its form. */
export function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => part?.text ?? "").join("");
}

const isSystem = (message) => message.role === "system" || message.role === "developer";
const systemText = (body) =>
  (body.messages ?? [])
    .filter(isSystem)
    .map((m) => textOf(m.content))
    .join("\n");

function lastUserText(body) {
  const users = (body.messages ?? []).filter((message) => message.role === "user");
  return users.length > 0 ? textOf(users.at(-1).content) : "";
}

function hasTool(body, name) {
  return (body.tools ?? []).some((tool) => (tool.function?.name ?? tool.name) === name);
}

function matches(when = {}, body, raw) {
  if (when.bodyIncludes && !raw.includes(when.bodyIncludes)) return false;
  if (when.bodyRegex && !new RegExp(when.bodyRegex, "s").test(raw)) return false;
  if (when.lastUserIncludes && !lastUserText(body).includes(when.lastUserIncludes)) return false;
  if (when.systemIncludes && !systemText(body).includes(when.systemIncludes)) return false;
  if (when.model && body.model !== when.model) return false;
  if (when.hasTool && !hasTool(body, when.hasTool)) return false;
  return true;
}

/** A request is a summariser call when its system prompt is that of Pi's summariser. */
export const isSummariserCall = (request) => systemText(request.body).includes(SUMMARISER);

/** Turns a step into what the wire needs: texts filled in, calls with ids, usage. */
function renderStep(step, { n, body, raw }) {
  const lastUser = lastUserText(body);
  const fill = (text) => String(text).replaceAll("{{n}}", String(n)).replaceAll("{{lastUser}}", lastUser);
  const text = step.text == null ? "" : fill(step.text);
  const toolCalls = (step.toolCalls ?? []).map((call, index) => ({
    index,
    id: call.id ?? `call_${n}_${index}`,
    type: "function",
    function: {
      name: call.name,
      arguments: typeof call.arguments === "string" ? fill(call.arguments) : fill(JSON.stringify(call.arguments ?? {})),
    },
  }));
  const promptTokens = step.usage?.prompt_tokens ?? Math.ceil(raw.length / 4);
  const answerLength = text.length + (step.reasoning?.length ?? 0) + JSON.stringify(toolCalls).length;
  const completionTokens = step.usage?.completion_tokens ?? Math.max(1, Math.ceil(answerLength / 4));
  return {
    text,
    reasoning: step.reasoning == null ? "" : fill(step.reasoning),
    toolCalls,
    finishReason: step.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: step.usage?.cached_tokens ?? 0 },
    },
  };
}

/** The deltas of a streamed answer, in the order in which a model sends them. */
function* deltasOf(answer, chunkSize) {
  yield { role: "assistant", content: "" };
  if (answer.reasoning) yield { reasoning_content: answer.reasoning };
  for (let at = 0; at < answer.text.length; at += chunkSize) {
    yield { content: answer.text.slice(at, at + chunkSize) };
  }
  for (const call of answer.toolCalls) yield { tool_calls: [call] };
}

function sendJson(res, status, value) {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(value));
}

function sendWhole(res, base, answer) {
  const message = { role: "assistant", content: answer.text || null };
  if (answer.toolCalls.length > 0) message.tool_calls = answer.toolCalls;
  sendJson(res, 200, {
    ...base,
    object: "chat.completion",
    usage: answer.usage,
    choices: [{ index: 0, finish_reason: answer.finishReason, message }],
  });
}

function sendStream(res, base, answer, step) {
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", connection: "keep-alive" });
  const write = (value) => res.write(`data: ${JSON.stringify({ ...base, ...value })}\n\n`);
  const choice = (delta, finishReason = null) => ({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
  let sent = 0;
  for (const delta of deltasOf(answer, step.chunkSize ?? 200)) {
    if (typeof step.hang === "number" && sent >= step.hang) return;
    if (step.dropAfter != null && sent >= step.dropAfter) return void res.destroy();
    write(choice(delta));
    sent += 1;
  }
  if (typeof step.hang === "number") return;
  write(choice({}, answer.finishReason));
  write({ choices: [], usage: answer.usage });
  res.end("data: [DONE]\n\n");
}

async function sendStep(res, step, request) {
  if (step.delayMs) await new Promise((resolve) => setTimeout(resolve, step.delayMs));
  if (step.hang === true) return;
  if (step.status >= 400) {
    const message = step.error ?? `scripted error ${step.status}`;
    return sendJson(res, step.status, { error: { message, type: "scripted_error" } });
  }
  const answer = renderStep(step, request);
  const base = {
    id: `chatcmpl-scripted-${request.n}`,
    object: "chat.completion.chunk",
    created: Math.floor(Date.now() / 1000),
    model: request.body.model,
  };
  if (request.body.stream) sendStream(res, base, answer, step);
  else sendWhole(res, base, answer);
}

export async function startModelServer({ port = 0, host = "127.0.0.1", script = {} } = {}) {
  const requests = [];
  let rules = [];
  let steps = [];
  let fallback;

  const asRule = (rule) => ({ ...rule, left: rule.times ?? Infinity });
  const setScript = (value = {}) => {
    rules = (value.rules ?? []).map(asRule);
    steps = [...(value.steps ?? [])];
    fallback = value.fallback ?? { text: "scripted reply {{n}}" };
  };
  setScript(script);

  function chooseStep(body, raw) {
    const rule = rules.find((candidate) => candidate.left > 0 && matches(candidate.when, body, raw));
    if (rule) {
      rule.left -= 1;
      return { step: rule.reply, via: "rule" };
    }
    if (steps.length > 0) return { step: steps.shift(), via: "step" };
    return { step: fallback, via: "fallback" };
  }

  function complete(res, raw) {
    let body;
    try {
      body = JSON.parse(raw);
    } catch {
      return sendJson(res, 400, { error: { message: "the request is not JSON" } });
    }
    const { step, via } = chooseStep(body, raw);
    const request = { n: requests.length + 1, via, body };
    requests.push(request);
    sendStep(res, step, { n: request.n, body, raw }).catch((error) => res.destroy(error));
  }

  const server = http.createServer((req, res) => {
    const chunks = [];
    req.on("data", (chunk) => chunks.push(chunk));
    req.on("end", () => {
      const path = (req.url ?? "").split("?")[0];
      if (req.method === "GET" && path.endsWith("/models")) {
        return sendJson(res, 200, { object: "list", data: [{ id: "fake-1", object: "model" }] });
      }
      if (req.method === "POST" && path.endsWith("/chat/completions")) {
        return complete(res, Buffer.concat(chunks).toString("utf8"));
      }
      sendJson(res, 404, { error: { message: `no route ${req.method} ${path}` } });
    });
  });

  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    baseUrl: `http://${host}:${server.address().port}/v1`,
    /** Every request so far: { n, via: "rule"|"step"|"fallback", body }. */
    requests: () => requests,
    summariserCalls: () => requests.filter(isSummariserCall),
    /** Steps that were written down and not asked for yet. */
    stepsLeft: () => steps.length,
    setScript,
    addRule: (rule) => rules.push(asRule(rule)),
    addSteps: (...more) => steps.push(...more),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
