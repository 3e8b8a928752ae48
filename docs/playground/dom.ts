/** Elements made in code: what is text stays text, and nothing is read as markup. */

type Attribute = string | boolean | ((event: Event) => void);

/** Make an element; attributes that are true are empty, functions listen to the event they name. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Attribute> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Return the element of the page with an id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element #${id}`);
  return found as T;
}

/** Count things: `1 rule`, `2 rules`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Call a function once its calls have stopped for some milliseconds. */
export function debounced(milliseconds: number, run: () => void): () => void {
  let timer = 0;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(run, milliseconds);
  };
}

/** Copy a text, and say on the button that it is done. */
export async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const label = button.dataset["label"] ?? button.textContent ?? "";
  button.dataset["label"] = label;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser does not allow it";
  }
  window.setTimeout(() => (button.textContent = label), 2000);
}
