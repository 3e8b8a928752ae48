/** The engine in its worker: one call of a kind at a time, of those that wait only the newest. */

import { type Call, type Calls, type Message, startWorker } from "./protocol";

export type Input<C extends Call> = Calls[C]["input"];
export type Result<C extends Call> = Calls[C]["result"];
interface Wish { call: Call; input: object; answer: (result: never) => void; fail: (text: string) => void }

/** What people see of the engine; isBusy: one call has taken long, and can be stopped. */
export interface EngineState { text: string; hasFailed?: boolean; isBusy?: boolean }

const LONG = 10_000;
/** What takes as long is stopped: one object that a policy has too much to do with. */
const TOO_LONG = 120_000;
const STOPPED = "It was stopped after two minutes: try fewer or smaller objects, or chartkit scan.";
const NEEDS = "It needs WebAssembly in a current browser, and a server: from a folder on disk, " +
  "start it with “chartkit playground”.";

export class Engine {
  private worker: Worker | null = null;
  private isReady = false;
  private version = "";
  private next = 1;
  private readonly asked = new Map<number, Wish>();
  private readonly waiting = new Map<Call, Wish>();
  private timer = 0;

  constructor(private readonly show: (state: EngineState) => void) {
    this.start();
  }

  /** Ask; answer is called with the result, unless a newer call of this kind comes first. */
  ask<C extends Call>(
    call: C, input: Input<C>, answer: (result: Result<C>) => void, fail: (text: string) => void,
  ): void {
    this.waiting.set(call, { call, input, answer, fail });
    this.send();
  }

  /** Stop what takes too long, and load the engine again. */
  restart(reason = "It took too long, and was stopped."): void {
    this.worker?.terminate();
    window.clearTimeout(this.timer);
    for (const wish of this.asked.values()) wish.fail(reason);
    this.asked.clear();
    this.isReady = false;
    this.start();
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
    const wish = this.asked.get(message.id);
    if (wish === undefined) return;
    this.asked.delete(message.id);
    window.clearTimeout(this.timer);
    this.show({ text: `${this.version}.` });
    const { error } = "error" in message ? message : (message.result as { error?: string });
    if (error !== undefined) wish.fail(error);
    else if ("result" in message) wish.answer(message.result as never);
    this.send();
  }

  /** Send what waits, a call at a time: the worker has one thread. */
  private send(): void {
    const [wish] = this.waiting.values();
    if (!this.isReady || this.asked.size || wish === undefined) return;
    this.waiting.delete(wish.call);
    const id = this.next++;
    this.asked.set(id, wish);
    this.worker?.postMessage({ id, call: wish.call, input: wish.input });
    this.timer = window.setTimeout(() => {
      this.show({ text: `This takes long: ${wish.call}.`, isBusy: true });
      this.timer = window.setTimeout(() => this.restart(STOPPED), TOO_LONG - LONG);
    }, LONG);
  }
}
