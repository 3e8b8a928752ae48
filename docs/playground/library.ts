/** The tab of the library: policies with objects to start from. */

import { byId, counted, element } from "./dom";
import type { Engine, Result } from "./engine";
import { badge } from "./parts";

export type Entry = Result<"library">["entries"][number];

export class Library {
  private entries: readonly Entry[] | null = null;
  private readonly search = byId<HTMLInputElement>("library-search");
  private readonly summary = byId("library-summary");

  constructor(private readonly engine: Engine, private readonly choose: (entry: Entry) => void) {
    this.search.addEventListener("input", () => this.show());
  }

  /** Load the list once, and show it. */
  open(): void {
    if (this.entries !== null) return;
    this.engine.ask("library", {}, this.summary, ({ entries }) => {
      this.entries = entries;
      this.show();
    });
  }

  private show(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = (this.entries ?? []).filter((entry) => {
      const text = [entry.name, entry.title, entry.category, entry.summary, ...entry.groups]
        .join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.summary.textContent = found.length ? `${counted(found.length, "policy", "policies")}.` :
      "No policy has all these words.";
    const groups = [...new Set(found.flatMap((entry) => entry.groups))];
    byId("library-results").replaceChildren(...groups.flatMap((group) => [
      element("h3", {}, group),
      element("ul", { class: "cards" }, ...found.filter((entry) => entry.groups.includes(group)).map(
        (entry) => this.card(entry),
      )),
    ]));
  }

  private card(entry: Entry): HTMLElement {
    return element(
      "li", {},
      element(
        "button", { type: "button", click: () => this.choose(entry) },
        element("b", {}, entry.title || entry.name), badge(entry.category),
        element("span", {}, entry.summary),
      ),
    );
  }
}
