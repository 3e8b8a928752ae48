/** The dialog that makes a link; Secrets are in it only if the user says so. */

import { byId, copy, counted } from "./dom";
import { fragmentOf, MOST_CHARACTERS, withoutSecrets } from "./link";
import type { State } from "./state";

const LONG = 8000;
const LOOPBACK = /^(127\.|localhost$|\[::1\]$)/;
const LOCAL = ". This page is served to this machine alone: for others, put the address of one " +
  "that they can open before the #.";

/** Let the button Share open the dialog. */
export function offerLinks(read: () => State): void {
  const dialog = byId<HTMLDialogElement>("share-dialog");
  const include = byId<HTMLInputElement>("share-include");
  const link = byId<HTMLTextAreaElement>("share-link");
  const button = byId<HTMLButtonElement>("share-copy");

  const write = async (): Promise<void> => {
    const whole = read();
    const { state, left } = withoutSecrets(whole);
    byId("share-secrets").hidden = left === 0;
    const label = include.nextElementSibling;
    const [holds, them] = left === 1 ? ["document holds a Secret and is", "it"] :
      ["documents hold Secrets and are", "them"];
    if (label) {
      label.textContent = `${left} ${holds} left out. Include ${them} all the same: whoever has ` +
        `the link can read ${them}.`;
    }
    const fragment = await fragmentOf(include.checked ? whole : state);
    const isTooLong = fragment.length > MOST_CHARACTERS;
    link.value = isTooLong ? "" : `${location.href.split("#", 1)[0] ?? ""}#${fragment}`;
    button.disabled = isTooLong;
    const size = counted(link.value.length, "character");
    byId("share-size").textContent = isTooLong ? "This is too much for a link: shorten the objects." :
      (link.value.length > LONG ? `${size}: some programs cut such links` : size) +
      (LOOPBACK.test(location.hostname) ? LOCAL : ".");
  };

  byId("share").addEventListener("click", () => {
    include.checked = false;
    void write().then(() => {
      dialog.showModal();
      link.select();
    });
  });
  include.addEventListener("change", () => void write());
  button.addEventListener("click", () => void copy(link.value, button));
  byId("share-close").addEventListener("click", () => dialog.close());
}
