/** Instants and spans as texts. Instants are milliseconds since 1970; spans are seconds. */

export type Zone = "utc" | "local";

const SECOND = 1000;
const DAY_SECONDS = 86_400;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/** What has lasted for so long is told by its day alone. */
const DAY_ALONE_SECONDS = 7 * DAY_SECONDS;

interface Parts {
  year: number;
  month: number;
  day: number;
  weekday: number;
  hour: number;
  minute: number;
  second: number;
}

export function instant(text: string | null | undefined): number | null {
  const ms = text ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** `02:41:17` */
export function clockTime(ms: number, zone: Zone, withSeconds = true): string {
  const { hour, minute, second } = partsOf(ms, zone);
  const short = `${two(hour)}:${two(minute)}`;
  return withSeconds ? `${short}:${two(second)}` : short;
}

/** `02:41:17` on the same day, `21 Nov, 16:55` in the last week, and else `9 Sep`, with the year of another year. */
export function moment(ms: number, now: number, zone: Zone): string {
  const [at, today] = [partsOf(ms, zone), partsOf(now, zone)];
  if (at.year === today.year && at.month === today.month && at.day === today.day) return clockTime(ms, zone);
  const day = `${at.day} ${MONTHS[at.month]}`;
  if (Math.abs(now - ms) < DAY_ALONE_SECONDS * SECOND) return `${day}, ${clockTime(ms, zone, false)}`;
  return at.year === today.year ? day : `${day} ${at.year}`;
}

/** The text of a condition, its instants as `moment` tells those beside it. */
export function inMoments(text: string, now: number, zone: Zone): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:]{8}Z/g, (found) => {
    const ms = instant(found);
    return ms === null ? found : moment(ms, now, zone);
  });
}

/** All of an instant: `Sun 22 Nov, 03:41:17 CET` */
export function inFull(ms: number, zone: Zone): string {
  const at = partsOf(ms, zone);
  return `${DAYS[at.weekday]} ${at.day} ${MONTHS[at.month]} ${at.year}, ${clockTime(ms, zone)} ${zoneName(ms, zone)}`;
}

const UNITS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/** `12 s`, `4 min`, `4 min 30 s`, `2 h 5 min`, `3 d 4 h`: as the command line tells it. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = UNITS.findIndex(([size]) => whole >= size);
  if (first < 0) return "0 s";
  const shown = UNITS.slice(first, first + 2);
  const [last] = shown[shown.length - 1] ?? [1];
  let rest = Math.floor((whole + Math.floor(last / 2)) / last) * last;
  const parts: string[] = [];
  for (const [size, name] of UNITS) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${name}`);
    rest %= size;
  }
  return parts.join(" ");
}

/** `in 12 s`, `now`, `1 min ago` */
export function relative(ms: number, now: number): string {
  const seconds = Math.round((ms - now) / SECOND);
  if (seconds > 0) return `in ${span(seconds)}`;
  return seconds === 0 ? "now" : `${span(-seconds)} ago`;
}

/** `UTC`, or the reader's: `CET`, `GMT+5:30` */
export function zoneName(ms: number, zone: Zone): string {
  if (zone === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(ms);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "local";
}

function partsOf(ms: number, zone: Zone): Parts {
  const shifted = new Date(zone === "utc" ? ms : ms - new Date(ms).getTimezoneOffset() * 60 * SECOND);
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth(),
    day: shifted.getUTCDate(),
    weekday: shifted.getUTCDay(),
    hour: shifted.getUTCHours(),
    minute: shifted.getUTCMinutes(),
    second: shifted.getUTCSeconds(),
  };
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
