/** Tabs by the pattern of the ARIA Authoring Practices: arrows, Home and End choose. */

import { byId } from "./dom";

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_at, count) => count - 1,
};

/** Let the tabs of the page choose panels; return the function that selects one by its name. */
export function tabs<T extends string>(
  names: readonly T[], selected: (name: T) => void,
): (name: T) => void {
  const select = (chosen: T): void => {
    for (const name of names) {
      const tab = byId(`tab-${name}`);
      tab.setAttribute("aria-selected", String(name === chosen));
      tab.tabIndex = name === chosen ? 0 : -1;
      byId(`panel-${name}`).hidden = name !== chosen;
    }
    selected(chosen);
  };
  names.forEach((name, at) => {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => select(name));
    tab.addEventListener("keydown", (event) => {
      const next = names[STEPS[event.key]?.(at, names.length) ?? -1];
      if (next === undefined) return;
      event.preventDefault();
      select(next);
      byId(`tab-${next}`).focus();
    });
  });
  return select;
}
