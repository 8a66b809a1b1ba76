/** The address is the state of the page: paths are pages, parameters are filters and what is chosen. */

class Router {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));

  constructor() {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => this.#followed(event));
  }

  /** Parts of the path, decoded: `/outages/x` is `["outages", "x"]`. */
  get parts(): string[] {
    return this.path.split("/").filter(Boolean).map(decoded);
  }

  /** `replace`: a state on the way to another one, to which Back does not lead. */
  go(href: string, { replace = false } = {}): void {
    if (href === location.pathname + location.search) return;
    if (replace) history.replaceState(null, "", href);
    else history.pushState(null, "", href);
    const before = this.path;
    this.#read();
    if (this.path !== before) scrollTo(0, 0);
  }

  /** The same page with other parameters; what is empty is left out. */
  set(changes: Record<string, string | string[]>, options = { replace: true }): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      query.delete(name);
      for (const each of [value].flat()) if (each) query.append(name, each);
    }
    const text = query.toString();
    this.go(text ? `${this.path}?${text}` : this.path, options);
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  #followed(event: MouseEvent): void {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.origin !== location.origin || link.hash || link.target || link.hasAttribute("download")) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

/** The text of a part of an address; what is no encoding of any stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const router = new Router();
