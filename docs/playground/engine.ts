/** The engine in its worker: one call of a kind at a time, of those that wait only the newest. */

import { type Call, type Calls, type Message, startWorker } from "./protocol";

export type Input<C extends Call> = Calls[C]["input"];
export type Result<C extends Call> = Calls[C]["result"];
interface Wish {
  id: number; call: Call; input: object; summary: HTMLElement; answer: (result: never) => void;
  /** The number of the object that is judged, and of those that are left out. */
  at?: number; leftOut: readonly number[];
}

/** What people see of the engine; isBusy: one call has taken long, and can be stopped. */
export interface EngineState { text: string; hasFailed?: boolean; isBusy?: boolean }

const LONG = 10_000;
/** What takes as long is stopped: an object, or a call without objects. */
const TOO_LONG = 120_000;
const STOPPED = "It was stopped after two minutes: try fewer or smaller objects, or chartkit scan.";
const MOST_LEFT_OUT = 10;
const NEEDS = "It needs WebAssembly in a current browser, and a server: from a folder on disk, " +
  "start it with “chartkit playground”.";

export class Engine {
  private worker: Worker | null = null;
  private isReady = false;
  private version = "";
  private next = 1;
  private asked: Wish | null = null;
  private readonly waiting = new Map<Call, Wish>();
  private timer = 0;

  constructor(private readonly show: (state: EngineState) => void) {
    this.start();
  }

  /** Ask; answer is called with the result, unless a newer call of this kind comes first. Where there
   * is none, the summary says why, in place of what stands below it. */
  ask<C extends Call>(
    call: C, input: Input<C>, summary: HTMLElement, answer: (result: Result<C>) => void,
  ): void {
    this.waiting.set(call, { id: this.next++, call, input, summary, answer, leftOut: [] });
    this.send();
  }

  /** Stop what takes too long, and load the engine again. */
  restart(reason = "It took too long, and was stopped."): void {
    this.worker?.terminate();
    this.isReady = false;
    this.start();
    this.giveUp(reason);
  }

  /** Have what was asked asked again without the object at hand; without objects, say why it ended. */
  private giveUp(reason: string): void {
    const wish = this.ended();
    if (wish === null) return;
    const { at, leftOut, ...others } = wish;
    if (at !== undefined && leftOut.length < MOST_LEFT_OUT && !this.waiting.has(wish.call)) {
      this.waiting.set(wish.call, { ...others, leftOut: [...leftOut, at] });
      return;
    }
    const { summary } = wish;
    summary.textContent = reason;
    summary.className = "summary bad";
    summary.nextElementSibling?.replaceChildren();
  }

  private ended(): Wish | null {
    window.clearTimeout(this.timer);
    const wish = this.asked;
    this.asked = null;
    return wish;
  }

  private start(): void {
    this.show({ text: "The engine is loading …" });
    try {
      this.worker = startWorker();
    } catch (error) {
      this.failed(String(error));
      return;
    }
    this.worker.addEventListener("message", (event) => this.take(event.data as Message));
    this.worker.addEventListener("error", (event) => {
      if (!this.isReady) this.failed(event.message || "its files cannot be read");
    });
  }

  private failed(reason: string): void {
    this.show({ text: `The engine cannot start: ${reason.slice(0, 300)}. ${NEEDS}`, hasFailed: true });
  }

  private take(message: Message): void {
    if ("failed" in message) return this.failed(message.failed);
    if ("ready" in message) {
      this.isReady = true;
      this.version = `chartkit ${message.version} runs in this page`;
      this.show({ text: `${this.version}, loaded in ${message.seconds.toFixed(1)} s.` });
      return this.send();
    }
    if (this.asked?.id !== message.id) return;
    if ("at" in message) {
      this.asked.at = message.at;
      return this.await(this.asked.call);
    }
    if ("error" in message) return this.restart(message.error);
    this.show({ text: `${this.version}.` });
    const { error } = message.result as { error?: string };
    if (error !== undefined) this.giveUp(error);
    else this.ended()?.answer(message.result as never);
    this.send();
  }

  /** Send what waits, a call at a time: the worker has one thread. */
  private send(): void {
    const [wish] = this.waiting.values();
    if (!this.isReady || this.asked !== null || wish === undefined) return;
    this.waiting.delete(wish.call);
    this.asked = wish;
    const { id, call, input, leftOut } = wish;
    this.worker?.postMessage({ id, call, input: { ...input, left_out: leftOut } });
    this.await(call);
  }

  /** Give what comes next its time. */
  private await(call: Call): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.show({ text: `This takes long: ${call}.`, isBusy: true });
      this.timer = window.setTimeout(() => this.restart(STOPPED), TOO_LONG - LONG);
    }, LONG);
  }
}
