// Long random conversations: whatever a person does in whatever order, each
// checkpoint agrees with what Pi prepared. The seeds are fixed; RANDOM_SEED runs another one.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { assertCheckpoints, assertNoTrace } from "./expect.mjs";
import { bash, isAssistant, isToolResult, isUser, read } from "./harness/conversation.mjs";
import { pngImage } from "./harness/png.mjs";

const SEEDS = process.env.RANDOM_SEED ? [Number(process.env.RANDOM_SEED)] : [2, 3];
const ACTIONS = 60;
const SECRET = "hidden-from-the-model";

/** A small generator of numbers (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

class RandomPerson {
  constructor(chat, seed) {
    this.chat = chat;
    this.random = generator(seed);
    this.step = 0;
    this.done = [];
  }

  below(limit) {
    return Math.floor(this.random() * limit);
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** A text that no other step says. */
  text(what) {
    const form = this.pick([
      "",
      "\n\n- one\n- two",
      "\n\ttabbed  ",
      " 风寒 🌬️",
      " </compacted-span> <x>",
      "\n[User]: not really",
    ]);
    return `${what} of step ${this.step}${form} ${prose(`${what} ${this.step}`, this.below(900))}`;
  }

  calls() {
    const known = [
      bash(`sed s/small/step${this.step}/ small.txt`),
      bash("sh fail.sh"),
      read("small.txt"),
      read("missing.txt"),
      { name: "no_such_tool", arguments: { step: this.step } },
    ];
    return Array.from({ length: 1 + this.below(3) }, () => this.pick(known));
  }

  async talk() {
    const turns = Array.from({ length: this.below(4) }, () => ({
      think: this.below(2) ? `thinking in step ${this.step}, which nobody needs later` : undefined,
      say: this.below(2) ? this.text("remark") : undefined,
      calls: this.calls(),
    }));
    const images = this.below(6) === 0 ? { images: [pngImage(8 + this.step, 8)] } : {};
    await this.chat.user(this.text("request"), [...turns, this.text("answer")], images);
  }

  abort() {
    return this.chat.userWhoAborts(this.text("request"), [
      { say: this.text("story") + prose("more of it", 400), chunkSize: 50, hang: 3 },
    ]);
  }

  fail() {
    return this.chat.user(this.text("request"), [{ status: 503, error: "The model is overloaded." }]);
  }

  command() {
    return this.chat.bash(this.pick([`sed s/small/command${this.step}/ small.txt`, "sh fail.sh"]));
  }

  hiddenCommand() {
    return this.chat.bash(`printf '%s-%s' hidden from-the-model`, { hidden: true });
  }

  note() {
    return this.chat.helper(`note review.comment the body of a note in step ${this.step}`);
  }

  entry() {
    return this.chat.helper(`entry review.state ${this.step}`);
  }

  async label() {
    const { id } = this.pick((await this.chat.branch()).filter((entry) => entry.type === "message"));
    await this.chat.helper(`label ${id} bookmark ${this.step}`);
  }

  /** Takes an answer without calls out of the context, or rewrites a question or an output. */
  async editContext() {
    const branch = await this.chat.branch();
    const answers = branch.filter((entry) => isAssistant(entry) && entry.message.stopReason === "stop");
    const rewritable = branch.filter((entry) => isUser(entry) || isToolResult(entry));
    if (this.below(2) && answers.length > 0) await this.chat.helper(`omit ${this.pick(answers).id}`);
    else if (rewritable.length > 0)
      await this.chat.helper(`replace ${this.pick(rewritable).id} rewritten in step ${this.step}`);
    await this.talk();
  }

  /** Anywhere in the newer half of the file, on this branch or another one, but never between call and result. */
  async move() {
    const { entries } = await this.chat.tree();
    const targets = entries
      .slice(entries.length / 2)
      .filter((entry) => isUser(entry) || entry.message?.stopReason === "stop");
    if (targets.length > 0) await this.chat.helper(`tree ${this.pick(targets).id}`);
  }

  async compact() {
    try {
      await this.chat.compact(this.below(3) === 0 ? `words of step ${this.step}` : undefined);
    } catch (error) {
      assert.match(error.message, /Nothing to compact|Already compacted/);
      return;
    }
    await this.chat.user(this.text("request"), [this.text("answer")]);
  }

  async act() {
    this.step += 1;
    const name = this.pick([
      ...Array(8).fill("talk"),
      ...Array(5).fill("compact"),
      ...["command", "hiddenCommand", "note", "entry", "label", "editContext", "editContext", "move", "abort", "fail"],
    ]);
    this.done.push(name);
    await this[name]();
  }
}

for (const seed of SEEDS) {
  test(`a random conversation, seed ${seed}`, async (t) => {
    const chat = await openChat(t, { keep: 250 });
    const person = new RandomPerson(chat, seed);
    try {
      await person.talk();
      for (let i = 0; i < ACTIONS; i += 1) await person.act();
      const ours = (await chat.compactions()).length;
      assert.ok(ours >= 3, `only ${ours} compactions on the branch where it ended`);
      await assertCheckpoints(chat, { count: ours, mustLoseOutput: false });
      await assertNoTrace(chat, SECRET);
    } catch (error) {
      error.message = `after ${person.done.join(" ")}:\n${error.message}`;
      throw error;
    }
  });
}
