import { expect, it } from '@jest/globals';
import { state } from './state.js';

it('folds segments that have the columns of today, each pack once', async () => {
  const { figures } = await state({ quick: true, packs: 2_000 });
  expect(figures).toMatchObject({ packs: 2_000, movements: 12_000 });
});
