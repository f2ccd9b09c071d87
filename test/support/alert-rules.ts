import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  annotations?: { summary?: string; action?: string };
}

/** A rule of the simple make: the greatest or least value of a gauge, of some labels or of all, against a number. */
const COMPARISON =
  /^(max|min)(?: by \(([a-z_, ]+)\))? \(?\(?(pedigree_[a-z_]+)(?:\{([^}]*)\})?\)? *(>|<|==) *([\d *]+)$/;

const { groups } = parse(readFileSync(new URL('../../docker/grafana/alerts.yml', import.meta.url), 'utf8')) as {
  groups: { rules: Rule[] }[];
};
/** The alert rules that come with Pedigree. */
export const ALERT_RULES = groups.flatMap((group) => group.rules);

/**
 * The alert rules of docker/grafana that these metrics (in Prometheus' text) would fire, once their `for` has passed,
 * each with the values of the labels that it is grouped by. Rules of another make than COMPARISON are not judged.
 */
export function firing(texts: string[]): string[] {
  const samples = texts.flatMap((text) => text.split('\n')).flatMap(sampleOf);
  return ALERT_RULES.flatMap(({ alert, expr }) => {
    const [, extreme, by = '', metric, selector = '', operator, bound = ''] =
      COMPARISON.exec(expr.replace(/^(max|min)\(/, '$1 (')) ?? [];
    const labels = by.split(', ').filter((label) => label !== '');
    const values = new Map<string, number[]>();
    for (const one of samples) {
      if (one.metric !== metric || !isSelected(one.labels, selector)) continue;
      const group = [alert, ...labels.map((label) => one.labels[label] ?? '')].join(' ');
      values.set(group, [...(values.get(group) ?? []), one.value]);
    }
    const limit = bound.split('*').reduce((product, factor) => product * Number(factor), 1);
    const holds = {
      '>': (value: number) => value > limit,
      '<': (value: number) => value < limit,
      '==': (value: number) => value === limit,
    }[operator ?? '>'];
    return [...values].flatMap(([group, of]) =>
      holds?.(extreme === 'max' ? Math.max(...of) : Math.min(...of)) === true ? [group] : [],
    );
  });
}

/** As Prometheus reads `a="b", c!~"d|e"`: a pattern is of the whole value. */
function isSelected(labels: Record<string, string>, selector: string): boolean {
  return [...selector.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].every(
    ([, name = '', operator = '', wanted = '']) => {
      const value = labels[name] ?? '';
      const isLike = operator.endsWith('~') ? new RegExp(`^(?:${wanted})$`).test(value) : value === wanted;
      return isLike !== operator.startsWith('!');
    },
  );
}

function sampleOf(line: string): { metric: string; labels: Record<string, string>; value: number }[] {
  const [, metric, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (metric === undefined) return [];
  return [
    {
      metric,
      labels: Object.fromEntries(
        [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', text = '']) => [name, text]),
      ),
      value: Number(value),
    },
  ];
}
