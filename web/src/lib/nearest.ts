/** The name that was meant where one is asked for that is not there. */

/** So many letters may differ of a name of twelve. */
const SHARE = 3 / 12;

/** Of the names the one with the fewest letters to change; null where none is near. */
export function nearest(asked: string, names: Iterable<string>): string | null {
  let found: string | null = null;
  let fewest = Math.floor(asked.length * SHARE) + 1;
  for (const name of names) {
    if (Math.abs(name.length - asked.length) >= fewest) continue;
    const number = changes(asked, name);
    if (number < fewest) [found, fewest] = [name, number];
  }
  return found;
}

/** Letters to insert, to leave out or to exchange until one text is the other. */
function changes(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
