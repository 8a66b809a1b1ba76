/** Server-sent events of a response's body, read as text: comments count as signs of life, which EventSource hides. */

export interface SentEvent {
  event: string;
  id: string;
  data: string;
}

/** Takes text as it comes; gives the events that are complete. */
export class EventParser {
  #rest = "";
  #lines: string[] = [];

  take(text: string): SentEvent[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    const events: SentEvent[] = [];
    for (const line of lines) {
      if (line !== "") this.#lines.push(line);
      else {
        const event = parsed(this.#lines);
        this.#lines = [];
        if (event) events.push(event);
      }
    }
    return events;
  }
}

function parsed(lines: string[]): SentEvent | null {
  const event: SentEvent = { event: "message", id: "", data: "" };
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "data") data.push(value);
    else if (field === "event") event.event = value;
    else if (field === "id") event.id = value;
  }
  event.data = data.join("\n");
  return data.length > 0 ? event : null;
}
