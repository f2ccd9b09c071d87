/**
 * Stands for systemctl: starts and stops what a template unit under SOAK_UNITS says, with its environment files,
 * working directory and command, and notes the process ids beside it. It knows no users, no restarts and no order.
 */
import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const UNITS = process.env.SOAK_UNITS;
const STOP_LIMIT_MS = 40_000;
const [verb, ...rest] = process.argv.slice(2);
const names = rest.filter((one) => !one.startsWith('-'));

if (verb === 'daemon-reload') process.exit(0);
if (verb === 'start' || (verb === 'enable' && rest.includes('--now'))) for (const name of names) start(name);
else if (verb === 'stop') await Promise.all(names.map(stop));
else throw new Error(`this stand-in knows no "${verb}"`);

function start(name) {
  const [template, instance] = name.split('@');
  const lines = readFileSync(join(UNITS, `${template}@.service`), 'utf8')
    .replaceAll('%i', instance)
    .split('\n');
  const valuesOf = (key) =>
    lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));
  const environment = valuesOf('EnvironmentFile').flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('=')),
  );
  const variables = Object.fromEntries(
    environment.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const [command, ...args] = valuesOf('ExecStart')[0].split(' ');
  const log = openSync(join(UNITS, `${name}.log`), 'a');
  // Nothing but what a service has: what the terminal exported must not help.
  const env = { PATH: process.env.PATH, ...variables };
  const child = spawn(command, args, {
    cwd: valuesOf('WorkingDirectory')[0],
    env,
    stdio: ['ignore', log, log],
    detached: true,
  });
  writeFileSync(pidFile(name), String(child.pid));
  child.unref();
}

async function stop(name) {
  if (!existsSync(pidFile(name))) return;
  const pid = Number(readFileSync(pidFile(name), 'utf8'));
  signal(pid, 'SIGTERM');
  for (let waitedMs = 0; waitedMs < STOP_LIMIT_MS && signal(pid, 0); waitedMs += 100) await wait(100);
  signal(pid, 'SIGKILL');
  rmSync(pidFile(name));
}

function pidFile(name) {
  return join(UNITS, `${name}.pid`);
}

/** Whether the process was there. */
function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
