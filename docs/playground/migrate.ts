/** The tab of migration: what replaces a ClusterPolicy, and the proof that both say the same. */

import { byId, copy, counted, debounced, element } from "./dom";
import type { Editor } from "./editor";
import type { Engine, Result } from "./engine";
import { code, problemList, problemMarks } from "./parts";

const PAUSE = 300;
const WORDS = {
  equal: "Proved equal",
  differs: "Different",
  undecided: "Not proved",
  unproved: "Not proved",
  none: "No replacement",
} as const;

export class Migration {
  /** Ask again once typing has paused. */
  readonly changed = debounced(PAUSE, () => this.ask());
  private readonly summary = byId("migrate-summary");
  private readonly results = byId("migrate-results");

  constructor(
    private readonly engine: Engine,
    private readonly policy: Editor,
    private readonly replacement: Editor,
    tryIt: (policies: string) => void,
  ) {
    const button = byId<HTMLButtonElement>("copy-replacement");
    button.addEventListener("click", () => void copy(replacement.text, button));
    byId("try-replacement").addEventListener("click", () => tryIt(replacement.text));
  }

  private ask(): void {
    this.summary.textContent = "Converting and proving …";
    const input = { policy: this.policy.text };
    this.engine.ask("migrate", input, this.summary, (result) => this.show(result));
  }

  private show({ text, verdict, counterexamples, notes, problems }: Result<"migrate">): void {
    this.replacement.text = text;
    this.policy.mark(problemMarks(problems, "policy"));
    const asked = verdict.requests ? ` (${counted(verdict.requests, "request")} asked of both)` : "";
    this.summary.textContent = `${WORDS[verdict.state]}: ${verdict.text}${asked}`;
    this.summary.className = `summary ${
      { equal: "good", differs: "bad", undecided: "unsure", unproved: "unsure", none: "" }[verdict.state]}`;
    this.results.replaceChildren(
      ...problemList(problems, { policy: this.policy }),
      ...(counterexamples.length ? [element("h3", {}, "Requests that both answer differently")] : []),
      ...counterexamples.map((each, at) => element(
        "details", { open: at === 0 },
        element("summary", {}, each.text),
        element("p", {}, "ClusterPolicy: ", element("b", {}, each.old)),
        element("p", {}, "What replaces it: ", element("b", {}, each.new)),
        code(each.request, "Request"),
      )),
      ...(notes.length ? [element("h3", {}, "Notes")] : []),
      element("ul", {}, ...notes.map(({ rule, text: note }) =>
        element("li", {}, rule ? element("b", {}, `${rule}: `) : "", note))),
    );
  }
}
