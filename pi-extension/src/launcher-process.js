// A process of its own that starts the binary for Pi; launcher.ts is the other end.
// To start a process, Linux copies the page tables of the one that asks: 10 ms and
// more of a Pi with a long session, during which nothing else happens there. This
// one is small, and stays so.
import { runChild } from "./child.js";

/** @typedef {import("./child.js").ChildCall} ChildCall */
/** @typedef {import("./child.js").ChildResult} ChildResult */

/**
 * What Pi sends: a call, or that it is to be ended.
 * @typedef {{ id: number, call: Omit<ChildCall, "signal" | "onStdout"> } | { id: number, abort: true }} Order
 */

/**
 * What Pi gets: that all is set up; the parts of the output, in their order, and then the result.
 * The output goes as the bytes that it is: as text it could be twice as many, and be made twice.
 * @typedef {{ ready: true } | { id: number, data: Uint8Array } | { id: number, result: ChildResult }} News
 */

/** @type {Map<number, AbortController>} */
const running = new Map();

/** @param {News} news */
const send = (news) => process.send?.(news);

process.on("message", async (/** @type {Order} */ order) => {
  const { id } = order;
  if ("abort" in order) return running.get(id)?.abort();
  const controller = new AbortController();
  running.set(id, controller);
  const onStdout = (/** @type {Uint8Array} */ data) => send({ id, data });
  const result = await runChild({ ...order.call, signal: controller.signal, onStdout });
  running.delete(id);
  send({ id, result });
});

// Pi has ended, however it did: what still runs ends with us (see child.js).
process.on("disconnect", () => process.exit());

send({ ready: true });
