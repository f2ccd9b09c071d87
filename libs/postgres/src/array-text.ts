/**
 * Values as the text of an array, for a parameter such as `$1::text[]`. pg writes arrays value by value, which costs
 * more than the database then takes to read them: this is for thousands of values. None of them is NULL.
 */
export function arrayText(values: readonly (string | number | bigint)[]): string {
  if (values.length === 0) return '{}';
  const needsEscape = /["\\]/.test(values.join(''));
  const safe = needsEscape ? values.map((one) => String(one).replace(/["\\]/g, '\\$&')) : values;
  return `{"${safe.join('","')}"}`;
}
