/** Files packed one after the other behind a line of JSON with the names and sizes. */

interface Files {
  mkdirTree(path: string): void;
  writeFile(path: string, content: Uint8Array): void;
}

/** Write the files of a pack below a folder. */
export function unpack(files: Files, pack: Uint8Array, folder: string): void {
  const head = pack.indexOf(10);
  const names = JSON.parse(new TextDecoder().decode(pack.subarray(0, head))) as [string, number][];
  const folders = new Set<string>();
  let at = head + 1;
  for (const [name, size] of names) {
    const path = `${folder}/${name}`;
    const above = path.slice(0, path.lastIndexOf("/"));
    if (!folders.has(above)) files.mkdirTree(above);
    folders.add(above);
    files.writeFile(path, pack.subarray(at, at + size));
    at += size;
  }
}
