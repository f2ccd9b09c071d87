import { wordsForCase } from '#read-models';
import { NAMED_ONLY, type StandsOn } from '../comparison/run-record.js';
import type { RegistryReading } from '../runs/pack-run.js';
import { barChart } from './chart.js';
import { html, type Html } from './html.js';
import { page, tableOf, type Cell } from './page.js';
import type { RunFacts, SideFacts } from './run-facts.js';
import { SAID, saidOf } from './saying.js';
import type { TrendStep } from './trend.js';

/** What the log has of a run; absent for one that was not recorded. */
export interface RunLogged {
  requestedAt: string;
  requestedBy: string;
  reason: string;
  calls: number;
  reading?: RegistryReading;
  standsOn?: StandsOn;
  digest: string;
}

export interface RunReport {
  facts: RunFacts;
  logged?: RunLogged;
  /** When and by which version the page was written. */
  writtenAt: string;
  version: string;
  /** What a person does first about a code. */
  firstStep: (code: string) => string;
}

const SIDES: Record<string, string> = {
  stock: 'stock of the ERP',
  record: 'our record, as our documents tell it',
  registry: 'the registry',
  disposals: 'disposals of the ERP',
};

const number = (name: string) => ({ name, isNumber: true });
const text = (name: string) => ({ name });
const digest = (value: string): Html => html`<span class="digest">${value}</span>`;
const severityOf = (value: string): Html => html`<span class="${value}">${value}</span>`;
const seconds = (at: Date | string): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/** A run about packs as a page of its own, for filing and printing. */
export function runReport(report: RunReport): string {
  const { facts } = report;
  const title = `Reconciliation of packs, ${seconds(facts.result.moment)}`;
  return page(
    title,
    html`${header(title, report)} ${sides(facts)} ${refused(facts.sides)} ${found(report)} ${explained(facts)}
    ${trend(facts.trend)} ${cases(facts)} ${items(facts)} ${settings(facts)} ${repeat(facts)}`,
  );
}

function header(title: string, { facts, logged, writtenAt, version }: RunReport): Html {
  const { runId, result } = facts;
  const why =
    logged === undefined
      ? html`<p>This run is not in the log: a dry run, or one of another database.</p>`
      : html`<p>
          Asked for by ${logged.requestedBy} at ${seconds(logged.requestedAt)}: ${logged.reason}. It took
          ${logged.calls.toLocaleString('en-US')} calls at the registry. ${takenOver(logged)}
        </p>`;
  const isSame = logged === undefined || logged.digest === result.digest;
  return html`<header>
    <h1>${title}</h1>
    <p class="lead">${result.findings.toLocaleString('en-US')} findings. Run <code>${runId}</code>.</p>
    ${why}
    <p>
      Digest over inputs and findings: ${digest(result.digest)}.
      ${isSame ? 'The files of the findings have it' : 'The log has ANOTHER digest for this run'}${
        logged === undefined ? '' : isSame ? ', and so does the log' : html`: ${digest(logged.digest)}`
      }.
    </p>
    <p class="soft">Written at ${seconds(writtenAt)} by Pedigree ${version}. All times are UTC.</p>
  </header>`;
}

function takenOver({ reading, standsOn }: RunLogged): Html {
  if (reading === undefined || standsOn === undefined) return html``;
  const number = (value: number): string => value.toLocaleString('en-US');
  return html`The registry answered for ${number(reading.asked)} rows. ${number(reading.takenOver)} were taken over from
    run <code>${standsOn.run}</code>, the oldest answer from ${seconds(reading.oldestAt ?? reading.fullAt)}: no finding
    rests on them. Asking about all would have taken ${number(reading.callsOfFull)} calls; that was last done by run
    <code>${reading.fullRun}</code>, at ${seconds(reading.fullAt)}. What changed silently at the registry since is shown
    by the next run that does so.`;
}

function sides({ sides: all, record }: RunFacts): Html {
  const rows = all.map((side): Cell[] => [
    SIDES[side.leg] ?? side.leg,
    side.rows,
    momentOf(side),
    sourceOf(side),
    digest(side.digest),
  ]);
  const places = record.places === null ? 'all places' : record.places.join(', ');
  const columns = [text('side'), number('rows'), text('true at'), text('from'), text('digest over its rows')];
  return html`<section>
    <h2>What was compared</h2>
    <p>All ages count from ${seconds(record.moment)}. The stock speaks of: ${places}.</p>
    ${tableOf('The sides of the comparison', columns, rows)}
  </section>`;
}

function momentOf({ position, moments, snapshot }: SideFacts): string {
  if (position !== undefined) return `log position ${position}`;
  if (moments === undefined) return snapshot === undefined ? '' : seconds(snapshot.moment);
  const [first, last] = moments.map(seconds) as [string, string];
  return first === last ? first : `${first} to ${last}`;
}

function sourceOf({ isThere, snapshot, position }: SideFacts): Html {
  if (!isThere) return html`its files are not at hand any more`;
  if (snapshot === undefined) return html`the log${position === undefined ? '' : ' up to there'}`;
  const { name, bytes, sha256 } = snapshot.source;
  return html`${name}, ${bytes.toLocaleString('en-US')} bytes, SHA-256 ${digest(sha256)}`;
}

const counted = (n: number, noun: string): string => `${n.toLocaleString('en-US')} ${noun}${n === 1 ? '' : 's'}`;

function refused(all: readonly SideFacts[]): Html {
  const tables = all.flatMap(({ leg, snapshot, reasons }) =>
    snapshot === undefined || snapshot.refused + snapshot.duplicates === 0
      ? []
      : [
          tableOf(
            `${SIDES[leg] ?? leg}: ${counted(snapshot.refused, 'row')} refused, ` +
              `${counted(snapshot.duplicates, 'item')} named by several rows`,
            [text('reason'), number('lines')],
            reasons.map(({ reason, rows }) => [reason, rows]),
          ),
        ],
  );
  return html`<section>
    <h2>Rows that were refused</h2>
    ${tables.length === 0 ? html`<p>None, as far as the files are at hand.</p>` : tables}
  </section>`;
}

function found({ facts: { counts, result }, firstStep }: RunReport): Html {
  if (counts.length === 0)
    return html`<section>
      <h2>What was found</h2>
      <p>No differences.</p>
    </section>`;
  const bars = counts.map(({ code, severity, findings }) => ({
    name: `${code}, ${severity}`,
    ...{ kind: severity, value: findings },
  }));
  const rows = counts.map(({ code, severity, findings }): Cell[] => [
    ...[code, severityOf(severity), findings, firstStep(code)],
  ]);
  return html`<section>
    <h2>What was found</h2>
    ${barChart('Findings by code', bars)}
    ${tableOf(
      `${result.findings.toLocaleString('en-US')} findings by code and severity`,
      [text('code'), text('severity'), number('findings'), text('first step')],
      rows,
    )}
  </section>`;
}

function explained({ record: { unconfirmed }, result: { quieted, unseen, namedOnly } }: RunFacts): Html {
  const rows = Object.entries(quieted).sort(([a], [b]) => (a < b ? -1 : 1));
  return html`<section>
    <h2>What is no finding</h2>
    ${
      rows.length === 0
        ? html`<p>No difference was explained by a rule.</p>`
        : tableOf('Differences that a rule explains', [text('rule'), number('items')], rows)
    }
    <p>
      ${
        unseen.length === 0
          ? 'No code was left out: all sides that the rules need are there.'
          : `Not looked for, because a side is absent: ${unseen.join(', ')}.`
      }
      ${unconfirmed === true ? "The registry's side is a file: nobody asked the registry about what was found." : ''}
      ${namedOnly === true ? `${NAMED_ONLY.charAt(0).toUpperCase()}${NAMED_ONLY.slice(1)}.` : ''}
    </p>
  </section>`;
}

function trend(steps: readonly TrendStep[]): Html {
  if (steps.length === 0)
    return html`<section>
      <h2>Since earlier runs</h2>
      <p>No earlier run with the same sides, places, rules and settings is at hand.</p>
    </section>`;
  const sum = (step: TrendStep, which: 'fresh' | 'persisting' | 'cleared'): number =>
    step.changes.reduce((all, one) => all + one[which], 0);
  const columns = [text('run'), text('since'), number('new'), number('persisting'), number('cleared')];
  const rows = steps.map((step): Cell[] => [
    ...[seconds(step.to.moment), seconds(step.from.moment)],
    ...[sum(step, 'fresh'), sum(step, 'persisting'), sum(step, 'cleared')],
  ]);
  const last = steps.at(-1) as TrendStep;
  const codes = last.changes.map(({ code, fresh, persisting, cleared }): Cell[] => [code, fresh, persisting, cleared]);
  return html`<section>
    <h2>Since earlier runs</h2>
    <p>
      A finding is the same when item and code are. Runs with other sides, places, rules or settings are not compared.
      Cleared is what a run did not find again: also what it could not judge, which stays in its case as unjudged.
    </p>
    ${tableOf('From run to run', columns, rows)}
    ${tableOf(
      `By code, since the run of ${seconds(last.from.moment)}`,
      [text('code'), number('new'), number('persisting'), number('cleared')],
      codes,
    )}
  </section>`;
}

function cases({ cases: all, hasMoreCases }: RunFacts): Html {
  if (all.length === 0)
    return html`<section>
      <h2>Cases</h2>
      <p>No case has this run as the newest that told it.</p>
    </section>`;
  const rows = all.map(({ caseId, code, severity, phase, assignee, itemCount, dueAt, state }): Cell[] => [
    html`<code id="case-${caseId}">${caseId}</code>`,
    ...[code, severityOf(severity), phase, itemCount, wordsForCase(state).sentence, assignee, seconds(dueAt)],
  ]);
  const columns = [text('case'), text('code'), text('severity'), text('state'), number('items'), text('what')];
  return html`<section>
    <h2>Cases</h2>
    <p>
      Cases of which this run is the newest that told them: it found them, or judged some of their items over. As they
      stand when this page is written. ${hasMoreCases ? `Only the first ${all.length} are shown.` : ''}
      <code>pedigree cases show CASE</code> tells more.
    </p>
    ${tableOf('Cases', [...columns, text('assignee'), text('due')], rows)}
  </section>`;
}

function items({ listed, result, runId }: RunFacts): Html {
  const said = listed.map(saidOf);
  const sides = SAID.filter(([side]) => said.some((one) => one[side] !== ''));
  const columns = [...['item', 'code', 'severity'], ...sides.map(([, name]) => name), 'case'].map(text);
  const rows = listed.map((one, n): Cell[] => [
    ...[html`<code>${String(one['item'])}</code>`, String(one['code']), severityOf(String(one['severity']))],
    ...sides.map(([side]) => said[n]?.[side]),
    one.case_id === null ? '' : html`<a href="#case-${one.case_id}">${one.case_id.slice(0, 8)}</a>`,
  ]);
  const some =
    listed.length < result.findings
      ? html`<p>
          <strong
            >Only the first ${listed.length.toLocaleString('en-US')} of ${result.findings.toLocaleString('en-US')}
            findings are listed</strong
          >, the most severe first. The digest of all of them is ${digest(result.digest)}.
          <code>pedigree reconcile findings ${runId} --csv FILE</code> writes all.
        </p>`
      : html`<p>All of them, the most severe first.</p>`;
  return html`<section>
    <h2>The findings</h2>
    ${result.findings === 0 ? html`<p>None.</p>` : some} ${rows.length === 0 ? '' : tableOf('Findings', columns, rows)}
  </section>`;
}

function settings({ record, rulesDigest }: RunFacts): Html {
  const rows = Object.entries(record.settings).map(([name, value]): Cell[] => [name, JSON.stringify(value)]);
  return html`<section>
    <h2>Settings and rules</h2>
    <p>
      Digest of the table of rules: ${digest(rulesDigest)}. Digest over sides, settings and rules:
      ${digest(record.inputs)}.
    </p>
    ${tableOf('Settings of this run', [text('setting'), text('value')], rows)}
  </section>`;
}

function repeat({ runId, result, sides: all }: RunFacts): Html {
  const isThere = all.every((side) => side.isThere);
  const gone = html`<p><strong>Files of some sides are not where the run had them.</strong> Put them back first.</p>`;
  return html`<section>
    <h2>How to repeat it</h2>
    <p>This compares the same snapshots again. It must print the same digest:</p>
    <pre><code>pedigree reconcile --replay ${runId}
the same digest: ${result.digest}</code></pre>
    ${isThere ? '' : gone}
  </section>`;
}
