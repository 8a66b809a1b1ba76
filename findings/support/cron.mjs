// Tells when a schedule is due by libraries for Node.
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const [start, zone, schedule] = process.argv.slice(2);
const readers = {
  "cron-parser": () => {
    const due = require("cron-parser").CronExpressionParser.parse(schedule, { currentDate: start, tz: zone });
    return [0, 0, 0].map(() => due.next().toDate());
  },
  croner: () => new (require("croner").Cron)(schedule, { timezone: zone }).nextRuns(3, new Date(start)),
  cron: () => {
    const { DateTime } = require("luxon");
    const time = new (require("cron").CronTime)(schedule, zone);
    const due = [DateTime.fromISO(start, { zone })];
    for (let i = 0; i < 3; i++) due.push(time.getNextDateFrom(due[i], zone));
    return due.slice(1).map((at) => at.toJSDate());
  },
};
for (const [reader, read] of Object.entries(readers))
  try {
    const due = read().map((at) => at.toISOString().slice(5, 16).replace("T", " "));
    console.log(`${reader}: ${due.join(", ")}`);
  } catch {
    console.log(`${reader}: refused`);
  }
