import { describe, expect, it } from '@jest/globals';
import { intervalFromText } from './interval-text.js';

describe('the interval that a 429 states', () => {
  it.each([
    ['Request limit exceeded. Minimum interval between calls is 100 ms', 100],
    ['Превышен лимит запросов. Минимальный интервал: 100 мс.', 100],
    ['Ошибка при выполнении операции: интервал между запросами должен быть не менее 500 миллисекунд', 500],
    ['the interval currently in force is 250 milliseconds', 250],
    ['wait 1 second', 1_000],
    ['Retry every 1.5 s', 1_500],
    ['не чаще чем раз в 1,5 секунды', 1_500],
    ['не чаще 1 раза в 5 сек', 5_000],
    ['интервал 30 с', 30_000],
    ['one call per 2 minutes', 120_000],
    ['раз в 1 минуту', 60_000],
    ['interval=100ms', 100],
    ['minimum 60000 ms', 60_000],
    ['minimum 60 000 мс', 60_000],
    ['once per 1 hour', 3_600_000],
    ['Code 429: 3 calls were made, the interval is 100 ms, wait 2 s', 100],
    ['a 200-ms pause', 200],
  ])('%s', (text, expected) => expect(intervalFromText(text)).toBe(expected));

  it.each([
    '',
    'Too many requests',
    'error 429',
    'limit 10 calls',
    '5 calls',
    'v1.2.3 service',
    '0 ms',
    '10 sandwiches',
    '12 messages',
    'x'.repeat(20_000),
  ])('says nothing where nothing is told: %#', (text) => expect(intervalFromText(text)).toBeUndefined());
});
