/** What a reader has set, kept in this browser: the theme, and which clock comes first. */

import { type Zone } from "./times";

export type Theme = "light" | "dark";

const THEME = "leeward.theme";
const ZONE = "leeward.zone";

class Settings {
  zone = $state<Zone>(kept(ZONE) === "local" ? "local" : "utc");
  theme = $state<Theme | null>(themeKept());

  get otherZone(): Zone {
    return this.zone === "utc" ? "local" : "utc";
  }

  swapZones(): void {
    this.zone = this.otherZone;
    keep(ZONE, this.zone);
  }

  swapThemes(): void {
    const isDark = this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.theme = isDark ? "light" : "dark";
    keep(THEME, this.theme);
  }
}

function themeKept(): Theme | null {
  const theme = kept(THEME);
  return theme === "light" || theme === "dark" ? theme : null;
}

/** A browser may refuse to keep anything: then nothing is kept. */
function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    return;
  }
}

export const settings = new Settings();
