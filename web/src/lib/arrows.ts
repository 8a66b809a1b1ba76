/** Arrow keys between the tiles of a map: to the nearest one in that direction. */

const DIRECTIONS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
/** How much a step aside costs, beside one ahead. */
const ASIDE = 3;

export function moveByArrows(event: KeyboardEvent): void {
  const direction = DIRECTIONS[event.key];
  const from = event.target;
  if (!direction || !(from instanceof HTMLElement) || !(event.currentTarget instanceof HTMLElement)) return;
  const here = centre(from);
  let best: { tile: HTMLElement; cost: number } | null = null;
  for (const tile of event.currentTarget.querySelectorAll<HTMLElement>("[data-tile]")) {
    const there = centre(tile);
    const [dx, dy] = [there.x - here.x, there.y - here.y];
    const ahead = dx * direction[0] + dy * direction[1];
    const aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
    const cost = ahead + ASIDE * aside;
    if (tile !== from && ahead > 1 && (!best || cost < best.cost)) best = { tile, cost };
  }
  event.preventDefault();
  best?.tile.focus();
}

function centre(element: HTMLElement): { x: number; y: number } {
  const { left, top, width, height } = (element.closest("label, a") ?? element).getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}
