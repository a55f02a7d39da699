import { expect, test } from 'vitest';
import { CREDIT_WINDOW_BYTES, CreditWindow } from '../../../src/mesh/rpc/flow-control.ts';

test('a peer cannot give so much room that its reader is not waited for any more', () => {
  const window = new CreditWindow();
  window.grant(0xffff_ffff);
  expect(window.take(CREDIT_WINDOW_BYTES)).toBeUndefined();
  expect(window.take(1)).toBeInstanceOf(Promise);
});
