/** Widths of texts in a picture, where nothing breaks a line that is too long. */

const SIZE = 12;
/** So many letters at least are worth a text that is cut. */
const FEWEST_LETTERS = 3;
const pen = document.createElement("canvas").getContext("2d");

/** Pixels of a text as `.chart` writes it. */
export function widthOf(text: string): number {
  if (!pen) return text.length * SIZE;
  pen.font = `${SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** The text, or as much of it as fits, with dots for the rest; empty where hardly any of it does. */
export function cut(text: string, pixels: number): string {
  if (widthOf(text) <= pixels) return text;
  let letters = text.length - 1;
  while (letters >= FEWEST_LETTERS && widthOf(`${text.slice(0, letters)}…`) > pixels) letters -= 1;
  return letters >= FEWEST_LETTERS ? `${text.slice(0, letters).trimEnd()}…` : "";
}
