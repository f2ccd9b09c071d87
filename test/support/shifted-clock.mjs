// Loaded by `node --import` before a program: its time of day is CLOCK_OFF_MS away from that of its machine. What
// measures durations (performance, timers) is left alone, as on a machine whose clock was set wrong.
const offMs = Number(process.env['CLOCK_OFF_MS']);
if (!Number.isFinite(offMs))
  throw new Error(`CLOCK_OFF_MS must be a number of milliseconds, not ${process.env['CLOCK_OFF_MS']}`);
const RealDate = Date;
const now = () => RealDate.now() + offMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : target[name]),
});
