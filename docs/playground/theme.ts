/** Light and dark: as the system has it, until the button says otherwise. */

import { byId } from "./dom";

const KEY = "chartkit-playground-theme";

/** Let the button change between both. */
export function offerThemes(): void {
  const button = byId("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = stored();
  const isDark = (): boolean => (chosen === null ? system.matches : chosen === "dark");
  const show = (): void => {
    if (chosen !== null) document.documentElement.dataset["theme"] = chosen;
    button.textContent = isDark() ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Without storage the choice holds until the page is closed.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}

function stored(): "dark" | "light" | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null;
  }
}
